// Where to go from a view that the server has refused: of a tenant that is not there, or is suspended.

import { h } from "./dom.js";
import { namespaces } from "./namespaces.js";
import { address } from "./router.js";
import { forget } from "./state.js";

const GROUP = "tenancy.polyplane.dev";

/** What stands where a kind's objects would, of a tenant that does not know the kind. */
export function unserved(tenant, name) {
  const to = h("a", { href: `${address("t", tenant)}/` }, "What it holds");
  return h("p", { class: "empty-note" }, `Tenant ${tenant} serves no ${name}. `, to);
}

/** An element, or null where going back is all that there is to do. */
export function waysOut({ status }) {
  const { group, kind, name } = status?.details ?? {};
  if (group !== GROUP || kind !== "tenants") return null;
  const to = (title, ...parts) => h("a", { class: "button", href: address(...parts) }, title);
  const isThere = status.code !== 404;
  if (!isThere) forget("tenant"); // nobody is led back to it
  return h(
    "p",
    { class: "bar" },
    to("All tenants", "tenants"),
    isThere ? [" ", to(`Settings of ${name}`, "tenants", name)] : null,
  );
}

/** Links to the namespaces of a tenant in which a binding names the reader; null where there are none.
 *  to(namespace): the address of one. */
export async function within(tenant, to) {
  const { names } = await namespaces(tenant).catch(() => ({ names: [] }));
  if (!names.length) return null;
  const links = names.map((name) => [" ", h("a", { class: "button", href: to(name) }, name)]);
  return h("p", { class: "bar ways" }, "You are given rights in namespace", links);
}
