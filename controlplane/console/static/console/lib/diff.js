// What differs between two lists of lines: the shortest edit (Myers, "An O(ND) Difference Algorithm
// and Its Variations", 1986), in hunks. Where that is long, lines that stand once on either side hold
// the rest together first (patience diff): time and memory grow with the square of the edits.

const MOST_EDITS = 1000;

/** Edits that make `after` of `before`, each {type: "same" | "gone" | "new", text, before, after}
 *  with the numbers of the lines, from 0. */
export function edits(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const least = Math.min(before.length, after.length) - head;
  while (tail < least && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const middle = between(
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

function between(a, b) {
  return shortest(a, b) ?? anchored(a, b);
}

/** Types of the edits; null where there are more than can be looked for. */
function shortest(a, b) {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const reach = new Int32Array(2 * most + 3); // by diagonal, from -most - 1 on
  const trace = [];
  for (let d = 0; d <= most; d += 1) {
    trace.push(reach.slice(most - d, most + d + 3));
    for (let k = -d; k <= d; k += 2) {
      const at = k + most + 1;
      const down = k === -d || (k !== d && reach[at - 1] < reach[at + 1]);
      let x = down ? reach[at + 1] : reach[at - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      reach[at] = x;
      if (x >= a.length && x - k >= b.length) return backtracked(trace, a.length, b.length);
    }
  }
  return null;
}

/** trace: for each number of edits how far each diagonal was reached before it, from -d - 1 on. */
function backtracked(trace, x, y) {
  const types = [];
  for (let d = trace.length - 1; d >= 0; d -= 1) {
    const k = x - y;
    const reached = (diagonal) => trace[d][diagonal + d + 1];
    const down = k === -d || (k !== d && reached(k - 1) < reached(k + 1));
    const from = d === 0 ? 0 : reached(down ? k + 1 : k - 1);
    const start = d === 0 ? 0 : from - (down ? k + 1 : k - 1);
    for (; x > from && y > start; x -= 1, y -= 1) types.push("same");
    if (d) types.push(down ? "new" : "gone");
    [x, y] = [from, start];
  }
  return types.reverse();
}

/** Edits between lines that stand once on either side; without such, all goes and all comes. */
function anchored(a, b) {
  const types = [];
  let [old, now] = [0, 0];
  const upTo = (i, j) => {
    for (const type of between(a.slice(old, i), b.slice(now, j))) types.push(type);
  };
  const anchors = inOrder(common(a, b));
  if (!anchors.length) return [...Array(a.length).fill("gone"), ...Array(b.length).fill("new")];
  for (const [i, j] of anchors) {
    upTo(i, j);
    types.push("same");
    [old, now] = [i + 1, j + 1];
  }
  upTo(a.length, b.length);
  return types;
}

/** [place in a, place in b] of the lines that stand once in each. */
function common(a, b) {
  const [ofA, ofB] = [a, b].map(places);
  return [...ofA].flatMap(([text, at]) => (at >= 0 && ofB.get(text) >= 0 ? [[at, ofB.get(text)]] : []));
}

/** Line -> its place, -1 where it stands more than once. */
function places(lines) {
  const found = new Map();
  lines.forEach((text, at) => found.set(text, found.has(text) ? -1 : at));
  return found;
}

/** The most of these pairs that go forwards on either side (the longest increasing subsequence). */
function inOrder(pairs) {
  const ends = []; // ends[n]: the lowest end of n + 1 pairs in order
  const before = new Map();
  for (const pair of pairs) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ends[middle][1] < pair[1]) low = middle + 1;
      else high = middle;
    }
    before.set(pair, ends[low - 1]);
    ends[low] = pair;
  }
  const found = [];
  for (let pair = ends.at(-1); pair; pair = before.get(pair)) found.push(pair);
  return found.reverse();
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
