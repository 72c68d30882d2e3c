// What has been waiting for its end for long, of the tenants that the reader may see.

import { failure } from "../../lib/dialog.js";
import { h, replace } from "../../lib/dom.js";
import { fact } from "../../lib/facts.js";
import { panel, table } from "../../lib/plain.js";
import { address, remember } from "../../lib/router.js";
import { age } from "../../lib/time.js";
import { many, number } from "../../lib/units.js";

const ANY = "0";
const SPANS = [
  [ANY, "for any time"],
  ["5", "for more than 5 minutes"],
  ["60", "for more than an hour"],
  ["1440", "for more than a day"],
];
const USUAL = "5";
const FEW = 10; // of what has been for less that are shown

/** A panel (`root`), and what fills it (`draw`); `query` of the address may say for how long ("stuck",
 *  minutes). */
export function stuckObjects(query, signal) {
  const chosen = SPANS.some(([minutes]) => minutes === query.get("stuck"));
  const span = h(
    "select",
    { "aria-label": "Being deleted", onchange: () => choose() },
    SPANS.map(([minutes, text]) => h("option", { value: minutes }, text)),
  );
  span.value = chosen ? query.get("stuck") : USUAL;
  const found = h("div", { "aria-live": "polite" });
  const draw = async () => {
    const minutes = span.value;
    const drawn = await look(minutes, signal).catch(failure);
    // an answer to what was chosen before may come last
    if (!signal.aborted && span.value === minutes) replace(found, drawn);
  };
  function choose() {
    remember({ stuck: span.value === USUAL ? "" : span.value });
    draw();
  }
  const root = panel(
    "Stuck deletions",
    h("p", {}, h("label", {}, "Being deleted ", span)),
    found,
  );
  return { root, draw };
}

/** What has been waiting for so long, and the oldest of what has been for less: most of that goes by
 *  itself, but whoever has just seen something hang is told that it was seen. */
async function look(minutes, signal) {
  const found = await fact("/stuck", { minutes }, signal);
  const all = minutes === ANY ? found : await fact("/stuck", { minutes: ANY }, signal);
  if (!all.items.length) return h("p", { class: "muted" }, "Nothing is being deleted.");
  const { length } = found.items;
  const rest = total(all) - total(found);
  const younger = rest > 0 ? all.items.slice(length, length + FEW) : []; // both lists are oldest first
  return [
    length ? shown(found) : h("p", { class: "muted" }, "Nothing has been for so long."),
    younger.length ? [h("p", { class: "muted" }, "For less:"), table(COLUMNS, younger)] : null,
    rest > younger.length ? h("p", { class: "muted" }, `And ${number(rest - younger.length)} more for less.`) : null,
  ];
}

function total({ tenants }) {
  return tenants.reduce((sum, one) => sum + one.objects, 0);
}

function shown(found) {
  const { tenants, items } = found;
  return [
    h(
      "p",
      {},
      `${many(total(found), "object")}: `,
      tenants.map((one, at) => [
        at ? ", " : "",
        h("a", { href: `${address("t", one.tenant)}/` }, one.tenant),
        ` ${one.objects}`,
      ]),
    ),
    table(COLUMNS, items),
    total(found) > items.length ? h("p", { class: "muted" }, `The oldest ${items.length}.`) : null,
  ];
}

const COLUMNS = [
  ["Since", (row) => age(row.since)],
  ["Tenant", (row) => row.tenant],
  ["Object", (row) => h("a", { href: placeOf(row) }, nameOf(row))],
  ["Held by", (row) => row.finalizers.join(", ") || heldBy(row)],
];

/** What has no finalizer of its own. */
function heldBy({ group, resource }) {
  return !group && resource === "namespaces" ? "what is left in it" : "nothing but its grace period";
}

function nameOf({ group, resource, namespace, name }) {
  return [group ? `${resource}.${group}` : resource, namespace, name].filter(Boolean).join("/");
}

function placeOf({ tenant, group, resource, namespace, name }) {
  return `${address("t", tenant, group || "core", resource, namespace || "-", name)}?tab=stuck`;
}
