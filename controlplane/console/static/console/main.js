// Where the console begins: its frame, then the view that the address names.

import "./views/index.js";
import { failure } from "./lib/dialog.js";
import { build } from "./lib/frame.js";
import { listen } from "./lib/keyboard.js";
import { palette } from "./lib/palette.js";
import { start } from "./lib/router.js";

addEventListener("console:session-over", () => {
  location.assign(`/admin/login/?next=${encodeURIComponent(location.pathname + location.search)}`);
});
addEventListener("console:failed", ({ detail: { error, root } }) => root.append(failure(error)));

const main = build(palette);
listen(palette);
start(main);
