// Where the console begins: its frame, then the view that the address names.

import "./views/index.js";
import { h } from "./lib/dom.js";
import { start } from "./lib/router.js";

addEventListener("console:session-over", () => {
  location.assign(`/admin/login/?next=${encodeURIComponent(location.pathname + location.search)}`);
});
addEventListener("console:failed", ({ detail: { error, root } }) => {
  root.append(h("p", { class: "failure", role: "alert" }, error.message));
});

const main = h("main", { id: "main", tabindex: "-1" });
document.body.append(main);
start(main);
