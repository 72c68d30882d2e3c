// Which view shows which address. One line each.

import { route } from "../lib/router.js";

const views = [
  ["/", () => import("./overview.js")],
  ["/t/:tenant", () => import("./tenant.js")],
  ["/t/:tenant/:group/:resource", () => import("./list.js")],
  ["/t/:tenant/:group/:resource/:namespace/:name", () => import("./object.js")],
  ["/t/:tenant/past", () => import("./past.js")],
];

for (const [pattern, load] of views) {
  route(pattern, async (context) => (await load()).default(context));
}
