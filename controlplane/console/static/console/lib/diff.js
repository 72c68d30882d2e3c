// What differs between two lists of lines: the shortest edit (Myers, "An O(ND) Difference Algorithm
// and Its Variations", 1986), in hunks.

const MOST_EDITS = 4000; // beyond it, all of the old goes and all of the new comes

/** Edits that make `after` of `before`, each {type: "same" | "gone" | "new", text, before, after}
 *  with the numbers of the lines, from 0. */
export function edits(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const least = Math.min(before.length, after.length) - head;
  while (tail < least && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const middle = shortest(
    before.slice(head, before.length - tail),
    after.slice(head, after.length - tail),
  );
  const types = [...Array(head).fill("same"), ...middle, ...Array(tail).fill("same")];
  let [old, now] = [0, 0];
  return types.map((type) => {
    const text = type === "gone" ? before[old] : after[now];
    const edit = { type, text, before: old, after: now };
    if (type !== "new") old += 1;
    if (type !== "gone") now += 1;
    return edit;
  });
}

function shortest(a, b) {
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let d = 0; d <= a.length + b.length; d += 1) {
    if (d > MOST_EDITS) return [...Array(a.length).fill("gone"), ...Array(b.length).fill("new")];
    const next = new Map(reach);
    trace.push(reach);
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      next.set(k, x);
      if (x >= a.length && x - k >= b.length) return backtracked(trace, a.length, b.length);
    }
    reach = next;
  }
  return [];
}

function backtracked(trace, x, y) {
  const types = [];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const [reach, k] = [trace[d], x - y];
    const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
    const from = d === 0 ? 0 : reach.get(down ? k + 1 : k - 1);
    const start = d === 0 ? 0 : from - (down ? k + 1 : k - 1);
    for (; x > from && y > start; x -= 1, y -= 1) types.push("same");
    if (d) types.push(down ? "new" : "gone");
    [x, y] = [from, start];
  }
  return types.reverse();
}

/** The edits in parts that hold changes, with `context` unchanged lines around them: each a list
 *  of edits. */
export function hunks(all, context = 3) {
  const parts = [];
  let part = null;
  all.forEach((edit, at) => {
    if (edit.type === "same") return;
    const from = Math.max(at - context, 0);
    if (!part || from > part.to) parts.push((part = { from, to: at }));
    part.to = Math.min(at + context + 1, all.length);
  });
  return parts.map(({ from, to }) => all.slice(from, to));
}
