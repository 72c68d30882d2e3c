// Which view shows which address. One line each.

import "../access/links.js"; // adds to the pages of objects
import "../change/bar.js"; // adds to the pages of lists and objects
import { route } from "../lib/router.js";

const views = [
  ["/", () => import("./overview.js")],
  ["/t/:tenant", () => import("./tenant.js")],
  ["/t/:tenant/new", () => import("./create.js")],
  ["/t/:tenant/:group/:resource", () => import("./list.js")],
  ["/t/:tenant/:group/:resource/new", () => import("./create.js")],
  ["/t/:tenant/:group/:resource/:namespace/:name/edit", () => import("./edit.js")],
  ["/t/:tenant/:group/:resource/:namespace/:name", () => import("./object.js")],
  ["/t/:tenant/access", () => import("./access.js")],
  ["/t/:tenant/crds", () => import("./crds.js")],
  ["/t/:tenant/admission", () => import("./admission.js")],
  ["/t/:tenant/past", () => import("./past.js")],
  ["/t/:tenant/deleted", () => import("./deleted.js")],
  ["/tenants", () => import("./tenants.js")],
  ["/tenants/:name", () => import("./settings.js")],
  ["/audit", () => import("./audit.js")],
  ["/sessions", () => import("./sessions.js")],
  ["/system", () => import("./system.js")],
  ["/me", () => import("./me.js")],
];

for (const [pattern, load] of views) {
  route(pattern, async (context) => (await load()).default(context));
}
