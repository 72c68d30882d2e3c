// What would be lost if the page were left: text that is not stored, work that is not done.

const held = new Map();

/** Until the signal is aborted: isHeld() says whether there is something to lose, `what` what. */
export function hold(what, isHeld, signal) {
  held.set(isHeld, what);
  signal?.addEventListener("abort", () => held.delete(isHeld), { once: true });
}

/** What would be lost, as a sentence; "" for nothing. */
export function unsaved() {
  for (const [isHeld, what] of held) if (isHeld()) return what;
  return "";
}

/** The reader has been asked, and gives it up. */
export function giveUp() {
  held.clear();
}

/** Before the tab is closed or loaded anew the browser asks, with words of its own. */
export function guard() {
  addEventListener("beforeunload", (event) => unsaved() && event.preventDefault());
}
