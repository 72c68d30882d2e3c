// The live list of one kind, with the columns that the server prints for it.

import { h, replace } from "../lib/dom.js";
import { groupPart, resourceOf } from "../lib/discovery.js";
import { address } from "../lib/router.js";
import { keyOf, LiveTable } from "../lib/table.js";
import { age } from "../lib/time.js";

export default async function list({ tenant, params, query, root, signal }) {
  const resource = await resourceOf(tenant, params.group, params.resource);
  if (!resource) {
    root.append(h("p", {}, `Tenant ${tenant} serves no ${params.resource}.${params.group}.`));
    return;
  }
  const namespace = query.get("namespace") ?? "";
  const body = h("tbody", {});
  const head = h("tr", {});
  root.append(
    h("h1", {}, resource.kind),
    h("table", { class: "list" }, h("thead", {}, head), body),
  );
  const table = new LiveTable(tenant, resource, { namespace }, () => {
    const columns = table.columns.filter((column) => column.priority === 0);
    replace(head, columns.map((column) => h("th", {}, column.name)));
    replace(body, [...table.rows.values()].map((row) => line(tenant, resource, table, row)));
  });
  await table.run(signal);
}

function line(tenant, resource, table, row) {
  const { name, namespace, creationTimestamp } = row.object.metadata;
  const to = address("t", tenant, groupPart(resource), resource.resource, namespace || "-", name);
  const cells = table.columns.flatMap((column, at) => {
    if (column.priority !== 0) return [];
    if (column.name === "Name") return [h("td", {}, h("a", { href: to }, name))];
    if (column.name === "Age") return [h("td", {}, age(creationTimestamp))];
    return [h("td", {}, String(row.cells[at] ?? ""))];
  });
  return h("tr", { "data-key": keyOf(row) }, cells);
}
