// Pages that show how things were at one moment: when that was, and how they are now, unless somebody
// is at work in what would be drawn anew.

import { h, replace } from "./dom.js";
import { looked } from "./looks.js";
import { button } from "./plain.js";
import { age } from "./time.js";

const EVERY = 30_000; // milliseconds

/** An element that says how old what `root` shows is, with a button. draw(): asks and draws, once at
 *  the beginning and from then on every half minute, until the signal is aborted. Throws what the
 *  first of it throws. */
export async function refreshed(root, draw, signal) {
  const told = h("span", { class: "muted" });
  const look = async () => {
    await draw();
    replace(told, "as of ", age(new Date().toISOString()), " ago");
  };
  await look();
  const later = () => look().catch(() => {}); // it stays as old as it says
  goOn(root, later, signal);
  return h("span", { class: "refreshed" }, told, " ", button("Refresh", later));
}

async function goOn(root, look, signal) {
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, EVERY));
    await looked(signal);
    if (!signal.aborted && !isUsed(root)) await look();
  }
}

function isUsed(root) {
  const { activeElement } = document;
  const selection = getSelection();
  return (
    document.querySelector("dialog[open], [popover]:popover-open") !== null ||
    (activeElement !== root && root.contains(activeElement)) ||
    (!selection.isCollapsed && root.contains(selection.anchorNode))
  );
}
