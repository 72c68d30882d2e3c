// What has been waiting for its end for long, of the tenants that the reader may see.

import { failure } from "../../lib/dialog.js";
import { h, replace } from "../../lib/dom.js";
import { fact } from "../../lib/facts.js";
import { panel, table } from "../../lib/plain.js";
import { address, remember } from "../../lib/router.js";
import { age } from "../../lib/time.js";
import { many } from "../../lib/units.js";

const ANY = "0";
const SPANS = [
  [ANY, "for any time"],
  ["5", "for more than 5 minutes"],
  ["60", "for more than an hour"],
  ["1440", "for more than a day"],
];
const USUAL = "5";

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

/** What has been waiting for so long; where there is nothing, what has been for less: most of that
 *  goes by itself, but whoever has just seen something hang is told that it was seen. */
async function look(minutes, signal) {
  const found = await fact("/stuck", { minutes }, signal);
  if (found.items.length) return shown(found);
  const younger = minutes === ANY ? found : await fact("/stuck", { minutes: ANY }, signal);
  if (!younger.items.length) return h("p", { class: "muted" }, "Nothing is being deleted.");
  return [h("p", { class: "muted" }, "Nothing has been for so long. For less:"), shown(younger)];
}

function shown({ tenants, items }) {
  const total = tenants.reduce((sum, one) => sum + one.objects, 0);
  return [
    h(
      "p",
      {},
      `${many(total, "object")}: `,
      tenants.map((one, at) => [
        at ? ", " : "",
        h("a", { href: `${address("t", one.tenant)}/` }, one.tenant),
        ` ${one.objects}`,
      ]),
    ),
    table(COLUMNS, items),
    total > items.length ? h("p", { class: "muted" }, `The oldest ${items.length}.`) : null,
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
