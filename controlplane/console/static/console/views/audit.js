// The audit log, searched.

import { failure, open } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { target, verbOf } from "../lib/entries.js";
import { fact } from "../lib/facts.js";
import { EXAMPLES, instantOf } from "../lib/instants.js";
import { newest } from "../lib/newest.js";
import { button, table } from "../lib/plain.js";
import { remember } from "../lib/router.js";
import { age, exact } from "../lib/time.js";

const FIELDS = ["tenant", "user", "verb", "group", "resource", "namespace", "name", "code", "message", "auditID", "since", "until"];
/** What cannot be guessed from the name of a field: an example, and in words. */
const HINTS = {
  code: ["403, 4xx", "403, or 4xx for all of that kind"],
  message: ["a part of it", "A part of what was answered to a request that was refused or failed"],
  since: ["10m, 14:05", `A time: ${EXAMPLES}; empty: a day before`],
  until: ["now", `A time: ${EXAMPLES}; empty: now`],
};
const SHOWN = [["", "what was done"], ["all", "all entries"]];
const LEFT_OUT = "Questions, dry runs and the server's own status writes and leases are left out.";
const NOT_KEPT = "Of a request there is an entry where the audit policy keeps one.";
const NOTHING = "Nothing was found in that time (without one: the last day).";

export default async function view({ root, query, signal }) {
  const found = h("div", { class: "rows" });
  const inputs = FIELDS.map((name) => {
    const [placeholder, title] = HINTS[name] ?? [];
    return h("input", { type: "text", name, placeholder, "aria-label": name, title, value: query.get(name) ?? "", size: "11" });
  });
  const show = h("select", { name: "show", "aria-label": "Which entries", title: LEFT_OUT, onchange: () => search() },
    SHOWN.map(([value, text]) => h("option", { value }, text)));
  show.value = query.get("show") === "all" ? "all" : "";
  const begin = newest();
  const search = async (event) => {
    event?.preventDefault();
    const isNewer = begin();
    try {
      inputs.filter(({ name }) => name === "since" || name === "until").forEach(settle);
      const asked = Object.fromEntries([...inputs, show].map((input) => [input.name, input.value.trim()]));
      remember(asked);
      const { items, more } = await fact("/audit", { ...asked, limit: "200" }, signal);
      const nothing = [NOTHING, asked.auditID && NOT_KEPT, !asked.show && LEFT_OUT].filter(Boolean).join(" ");
      const drawn = [table(columns(items), items, nothing), more ? older(items.at(-1).at) : null];
      if (isNewer()) replace(found, drawn);
    } catch (error) {
      if (!signal.aborted && isNewer()) replace(found, failure(error));
    }
  };
  /** From the last that is shown on: those of the same moment are shown again. */
  const older = (at) => h("p", {}, button("Older entries", () => {
    inputs.find(({ name }) => name === "until").value = at;
    return search();
  }));
  const labelled = inputs.map((input) => h("label", { class: "field" }, h("span", { class: "muted" }, input.name), input));
  root.append(h("form", { class: "toolbar asked", onsubmit: search }, h("h1", {}, "Audit"), labelled, show, h("button", { type: "submit", class: "button primary" }, "Search")), found);
  await search();
}

/** However a time was typed, it is asked for as the server takes it. Throws where it is none. */
function settle(input) {
  const typed = input.value.trim();
  if (!typed) return;
  const time = instantOf(typed);
  if (!time) throw new Error(`${input.name}: ${typed} is no time: write ${EXAMPLES}.`);
  input.value = time;
}

/** What was refused says why. */
function columns(items) {
  const more = items.some(said) ? [["Message", said, "wrap"]] : [];
  return [...COLUMNS.slice(0, -1), ...more, COLUMNS.at(-1)];
}

function said({ code, event }) {
  return (code >= 400 && event.responseStatus?.message) || "";
}

const COLUMNS = [
  ["When", (row) => [exact(Date.parse(row.at)), " ", h("span", { class: "muted" }, age(row.at), " ago")]],
  ["User", (row) => (row.as ? `${row.user} as ${row.as}` : row.user)],
  ["Verb", verbOf],
  ["What", target],
  ["Code", (row) => h("span", { class: row.code >= 400 ? "bad" : "good" }, String(row.code))],
  ["Tenant", (row) => row.tenant],
  ["", (row) => button("Entry", () => open("Audit entry", () => h("pre", {}, JSON.stringify(row.event, null, 2)), { class: "wide" }))],
];
