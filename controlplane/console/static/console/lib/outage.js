// Whether the server answers. While it does not, what is shown may be old: pages say so, and what has
// failed meanwhile is asked for again once it does.

const EVERY = 2000; // milliseconds between two looks at whether it is back
const ALIVE = "/livez";
let since = null; // when it was first without an answer; null: it answers
let back = Promise.resolve();

/** Whether the last that was heard of the server is that it does not answer. */
export function isAway() {
  return since !== null;
}

/** When it was first without an answer; null where it answers. */
export function awaySince() {
  return since;
}

/** A request had no answer at all. Tells all by "console:away", and by "console:back" at the end. */
export function noAnswer() {
  if (isAway()) return;
  since = new Date().toISOString();
  back = wait();
  dispatchEvent(new CustomEvent("console:away"));
}

/** Resolves once the server answers, at once where it does. */
export function answers() {
  return back;
}

async function wait() {
  do await new Promise((resolve) => setTimeout(resolve, EVERY));
  while (!(await isAlive()));
  since = null;
  dispatchEvent(new CustomEvent("console:back"));
}

async function isAlive() {
  try {
    return (await fetch(ALIVE, { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
