// Where the console begins: its frame, then the view that the address names.

import "./views/index.js";
import { failure, notify } from "./lib/dialog.js";
import { h } from "./lib/dom.js";
import { build } from "./lib/frame.js";
import { listen } from "./lib/keyboard.js";
import { isAway } from "./lib/outage.js";
import { palette } from "./lib/palette.js";
import { show, start } from "./lib/router.js";
import { reachable } from "./lib/scrolls.js";
import { listen as listenForSession } from "./lib/sessionover.js";
import { guard } from "./lib/unsaved.js";
import { waysOut } from "./lib/waysout.js";

// what a click has begun and nothing else tells the end of
addEventListener("unhandledrejection", ({ reason }) => {
  if (reason?.name !== "AbortError" && !isAway()) notify(reason?.message ?? String(reason), { error: true });
});
const FAILED = { 403: "You may not see this", 404: "Not found" }; // by the code of the answer
let missing = null; // the view that lacks what the server did not answer
addEventListener("console:failed", ({ detail: { error, root } }) => {
  if (!root.querySelector("h1")) root.prepend(h("h1", { class: "page" }, FAILED[error.code] ?? "This page cannot be shown"));
  root.append(failure(error), waysOut(error) ?? "");
  missing = isAway() ? root : null;
});

addEventListener("console:back", () => missing?.isConnected && show());

const main = build(palette);
listen(palette);
listenForSession();
guard();
reachable(main);
start(main);
