// What a namespace holds, each kind with the way to its list.

import { groupPart } from "../../lib/discovery.js";
import { h } from "../../lib/dom.js";
import { holdings } from "../../lib/holdings.js";
import { address } from "../../lib/router.js";
import { number } from "../../lib/units.js";

/** Nothing for what is no namespace. */
export async function holds({ tenant, resource, name }) {
  if (resource.group || resource.resource !== "namespaces") return null;
  const { kinds, hidden } = await holdings(tenant, name);
  const lists = kinds.map(({ resource: kind, count }) => {
    const list = address("t", tenant, groupPart(kind), kind.resource);
    const href = `${list}?namespace=${encodeURIComponent(name)}`;
    return h("li", {}, h("a", { href }, kind.kind), ` ${number(count)}`);
  });
  return [
    h("h3", {}, "What it holds"),
    lists.length ? h("ul", { class: "tree" }, lists) : h("p", { class: "muted" }, "Nothing that you may list."),
    hidden ? h("p", { class: "muted" }, "You may not list all kinds: there may be more.") : null,
  ];
}
