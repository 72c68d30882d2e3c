// The first page: what goes on in the installation, for those who may look at all of it, and the
// tenants that the reader may look into.

import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { panel, table } from "../lib/plain.js";
import { rates } from "../lib/rates.js";
import { refreshed } from "../lib/refresh.js";
import { address } from "../lib/router.js";
import { account } from "../lib/state.js";
import { tenants } from "../lib/tenants.js";
import { many } from "../lib/units.js";
import { changesAsked, newestChanges } from "./overview/changes.js";
import { endingSoon } from "./overview/ending.js";
import { failing, full, largest, totals } from "./overview/numbers.js";
import { stuckObjects } from "./overview/stuck.js";

const MOST = 200;
const LOOKERS = "polyplane:viewers";

/** How somebody came by a tenant, as a SelfTenantReview says it. */
const WAYS = { owner: "you own it", binding: "a binding names you or a group of yours" };

export default async function overview({ root, query, signal }) {
  const head = h("div", { class: "toolbar" }, h("h1", {}, "Overview"), h("span", { class: "grow" }));
  const state = { urgent: h("div"), changes: h("div"), largest: h("div") };
  const listed = panel("Tenants");
  const stuck = stuckObjects(query, signal);
  const ending = endingSoon(signal);
  root.append(head, state.urgent, stuck.root, ending, state.changes, state.largest, listed);
  const [known, me] = await Promise.all([tenants(), fact("/me", {}, signal)]);
  showTenants(listed, known);
  const looksAtAll = me.roles.some((role) => role.name === LOOKERS);
  const draw = () => Promise.all([looksAtAll && drawState(state, signal), stuck.draw()]);
  head.append(await refreshed(root, draw, signal));
}

async function drawState(state, signal) {
  const query = new URLSearchParams(location.search); // what was chosen since is in the address
  const facts = await fact("/overview", { changes: changesAsked(query) }, signal);
  if (signal.aborted) return;
  replace(
    state.urgent,
    totals(facts.totals),
    failing(facts.failing),
    h("div", { class: "columns" }, full(facts.full), rates(facts.minutes, refused())),
  );
  replace(state.changes, newestChanges(query, facts.changes, signal));
  replace(state.largest, largest(facts.largest));
}

/** Whatever was asked: the chart's refusals are of reads, too. */
function refused() {
  const to = `${address("audit")}?${new URLSearchParams({ code: "4xx", since: "1h" })}`;
  return h("p", {}, h("a", { href: to }, "What was refused, and why"));
}

function showTenants(listed, { names, all, through }) {
  const filter = h("input", {
    type: "search",
    placeholder: "Filter tenants",
    "aria-label": "Filter tenants",
    oninput: draw,
  });
  const links = h("div", { class: through ? "" : "links" });
  const link = (name) => h("a", { href: `${address("t", name)}/` }, name);
  function draw() {
    const word = filter.value.trim().toLowerCase();
    const fits = names.filter((name) => name.includes(word)).slice(0, MOST);
    const columns = [
      ["Tenant", link],
      ["Through", (name) => through.get(name).map((way) => WAYS[way] ?? way).join(", ")],
    ];
    replace(links, through ? table(columns, fits, "") : fits.map(link));
  }
  draw();
  const count = all ? many(names.length, "tenant") : `the first ${many(names.length, "tenant")}`;
  if (!names.length) {
    const way = `An owner of a tenant gives access to user ${account()} on the tenant's page Access; whoever runs the installation gives a role.`;
    listed.append(h("p", { class: "muted" }, `You may look into no tenant yet. ${way}`));
  } else listed.append(h("p", { class: "muted" }, count), filter, links);
}
