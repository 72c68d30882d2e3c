// Keys that work everywhere. What stands in a view answers to its own.

import { open } from "./dialog.js";
import { h } from "./dom.js";
import { go, pathOf } from "./router.js";
import { lastTenant } from "./state.js";

const KEYS = [
  ["Ctrl K", "find or do anything"],
  ["/", "filter what is shown"],
  ["?", "these keys"],
  ["g o", "overview"],
  ["g t", "tenants"],
  ["g h", "the tenant's page"],
  ["j, k or ↓, ↑", "next and previous row"],
  ["Enter", "open the row"],
  ["x or Space", "select the row"],
  ["<, >", "the first and the last page"],
  ["p", "pause or go on"],
  ["Esc", "close, leave the field"],
];
const PLACES = { o: () => "/", t: () => "/tenants", h: () => `${pathOf("t", lastTenant())}/` };

/** find: opens the palette. */
export function listen(find) {
  let going = 0;
  addEventListener("console:help", help);
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      find();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    if (event.key === "/") {
      const field = document.querySelector("main input[type=search]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    } else if (event.key === "?") {
      help();
    } else if (event.key === "g") {
      going = Date.now();
    } else if (Date.now() - going < 1500 && PLACES[event.key]) {
      going = 0;
      go(PLACES[event.key]());
    }
  });
}

/** Whether keys are text at present. */
export function isTyping(event) {
  const target = event.composedPath()[0];
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function help() {
  open("Keyboard", () =>
    h(
      "dl",
      { class: "keys" },
      KEYS.map(([keys, what]) => [
        h(
          "dt",
          {},
          keys.split(" or ").map((key, at) => [at ? " or " : "", h("kbd", {}, key)]),
        ),
        h("dd", {}, what),
      ]),
    ),
  );
}
