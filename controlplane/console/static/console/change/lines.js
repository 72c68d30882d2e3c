/* The difference of two texts by lines: the shortest edit script (Myers 1986), and its hunks. Pure. */

const MOST_EDITS = 2000;

/** [{kind: "same" | "removed" | "added", before, after, text}]: the numbers of the line in both texts,
    from 0. Texts further apart than MOST_EDITS edits differ as a whole. */
export function difference(before, after) {
  const [a, b] = [before, after];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start
    && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const inner = shortest(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const lines = [];
  for (let i = 0; i < start; i += 1) lines.push({ kind: "same", before: i, after: i, text: a[i] });
  for (const { kind, x, y } of inner) {
    const text = kind === "added" ? b[start + y] : a[start + x];
    lines.push({ kind, before: start + x, after: start + y, text });
  }
  for (let i = end; i > 0; i -= 1) {
    lines.push({ kind: "same", before: a.length - i, after: b.length - i, text: a[a.length - i] });
  }
  return lines;
}

function shortest(a, b) {
  const trace = forward(a, b);
  if (!trace) {
    return [...a.map((_, x) => ({ kind: "removed", x, y: 0 })),
      ...b.map((_, y) => ({ kind: "added", x: a.length, y }))];
  }
  return backward(trace, a.length, b.length);
}

/** The furthest reaching paths for each number of edits; undefined when there are too many. */
function forward(a, b) {
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(a.length + b.length, MOST_EDITS); d += 1) {
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      let x = goesDown(reach, k, d) ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return undefined;
}

function goesDown(reach, k, d) {
  return k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
}

function backward(trace, x, y) {
  const lines = [];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const k = x - y;
    const down = goesDown(trace[d], k, d);
    const fromX = trace[d].get(down ? k + 1 : k - 1);
    const fromY = fromX - (down ? k + 1 : k - 1);
    while (x > Math.max(fromX, 0) && y > Math.max(fromY, 0) && x > (down ? fromX : fromX + 1)
      && y > (down ? fromY + 1 : fromY)) {
      x -= 1;
      y -= 1;
      lines.push({ kind: "same", x, y });
    }
    if (d === 0) break;
    lines.push(down ? { kind: "added", x: fromX, y: fromY } : { kind: "removed", x: fromX, y: fromY });
    [x, y] = [fromX, fromY];
  }
  while (x > 0 && y > 0) {
    x -= 1;
    y -= 1;
    lines.push({ kind: "same", x, y });
  }
  return lines.reverse();
}

/** The lines with `around` unchanged ones about each change; {kind: "gap", count} for the rest. */
export function hunks(lines, around = 3, important = () => false) {
  const near = lines.map(() => false);
  lines.forEach((line, at) => {
    if (line.kind === "same" && !important(line)) return;
    for (let i = at - around; i <= at + around; i += 1) if (i in near) near[i] = true;
  });
  const shown = [];
  lines.forEach((line, at) => {
    if (near[at]) shown.push(line);
    else if (shown.at(-1)?.kind === "gap") shown.at(-1).count += 1;
    else shown.push({ kind: "gap", count: 1 });
  });
  return shown;
}
