// Which view shows which address. One line each.

import { route } from "../lib/router.js";

const views = [
  ["/t/:tenant/:group/:resource", () => import("./list.js")],
  ["/tenants", () => import("./tenants.js")],
  ["/tenants/:name", () => import("./tenant.js")],
  ["/audit", () => import("./audit.js")],
  ["/system", () => import("./system.js")],
  ["/me", () => import("./me.js")],
];

for (const [pattern, load] of views) {
  route(pattern, async (context) => (await load()).default(context));
}
