// Where the console begins: its frame, then the view that the address names.

import "./views/index.js";
import { failure } from "./lib/dialog.js";
import { build } from "./lib/frame.js";
import { listen } from "./lib/keyboard.js";
import { isAway } from "./lib/outage.js";
import { palette } from "./lib/palette.js";
import { show, start } from "./lib/router.js";
import { waysOut } from "./lib/waysout.js";

addEventListener("console:session-over", () => {
  location.assign(`/admin/login/?next=${encodeURIComponent(location.pathname + location.search)}`);
});
let missing = null; // the view that lacks what the server did not answer
addEventListener("console:failed", ({ detail: { error, root } }) => {
  root.append(failure(error), waysOut(error) ?? "");
  missing = isAway() ? root : null;
});

addEventListener("console:back", () => missing?.isConnected && show());

const main = build(palette);
listen(palette);
start(main);
