// What was written lately, in all tenants that there are.

import { failure } from "../../lib/dialog.js";
import { h, replace } from "../../lib/dom.js";
import { target, verbOf } from "../../lib/entries.js";
import { fact } from "../../lib/facts.js";
import { panel, table } from "../../lib/plain.js";
import { address, remember } from "../../lib/router.js";
import { age } from "../../lib/time.js";
import { many } from "../../lib/units.js";

const SHOWN = [
  ["", "those of people and programs, the server's own folded"],
  ["all", "all"],
];

/** What is asked of the server for the changes that an address wants ("changes"). */
export function changesAsked(query) {
  return query.get("changes") === "all" ? "all" : "";
}

/** A panel. `changes`: those that were asked for; other ones are asked for when they are chosen. */
export function newestChanges(query, changes, signal) {
  const show = h(
    "select",
    { "aria-label": "Which changes", onchange: () => choose() },
    SHOWN.map(([value, text]) => h("option", { value }, text)),
  );
  show.value = changesAsked(query);
  const found = h("div", { "aria-live": "polite" }, shown(changes));
  async function choose() {
    const asked = show.value;
    remember({ changes: asked });
    const drawn = await fact("/overview", { changes: asked }, signal)
      .then((facts) => shown(facts.changes))
      .catch(failure);
    // an answer to what was chosen before may come last
    if (!signal.aborted && show.value === asked) replace(found, drawn);
  }
  return panel("Newest changes", h("p", {}, h("label", {}, "Show ", show)), found);
}

/** The object; or how many changes of the server's own a row stands for, which leads to them. */
function what(row) {
  const { count = 1, more, tenant, user, verb } = row;
  if (count === 1 && !more) return target(row);
  const to = `${address("audit")}?${new URLSearchParams({ tenant, user, verb, since: "1h" })}`;
  return h("a", { href: to }, many(count, "object"), more ? " or more" : "", ", by the server itself");
}

function shown(changes) {
  return table(COLUMNS, changes, "Nothing was written in the last hour.");
}

const COLUMNS = [
  ["When", (row) => age(row.at)],
  ["User", (row) => (row.as ? `${row.user} as ${row.as}` : row.user)],
  ["Verb", verbOf],
  ["What", what],
  ["Tenant", (row) => h("a", { href: `${address("t", row.tenant)}/` }, row.tenant)],
];
