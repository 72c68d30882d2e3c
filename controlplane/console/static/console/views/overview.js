// The first page: what goes on in the installation, for those who may look at all of it, and the
// tenants that the reader may look into.

import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { panel, table } from "../lib/plain.js";
import { address } from "../lib/router.js";
import { tenants } from "../lib/tenants.js";
import { many } from "../lib/units.js";
import { changesAsked, newestChanges } from "./overview/changes.js";
import { stuckObjects } from "./overview/stuck.js";

const MOST = 200;
const LOOKERS = "polyplane:viewers";
const HOUR = 60;

export default async function overview({ root, query, signal }) {
  const state = h("div");
  const listed = panel("Tenants");
  const stuck = stuckObjects(query, signal);
  root.append(h("h1", { class: "page" }, "Overview"), state, stuck, listed);
  const [{ names, all }, me] = await Promise.all([tenants(), fact("/me", {}, signal)]);
  showTenants(listed, names, all);
  if (me.roles.some((role) => role.name === LOOKERS)) {
    const asked = { changes: changesAsked(query) };
    await showState(state, await fact("/overview", asked, signal), { query, signal });
  }
}

function showTenants(listed, names, all) {
  const filter = h("input", {
    type: "search",
    placeholder: "Filter tenants",
    "aria-label": "Filter tenants",
    oninput: draw,
  });
  const links = h("div", { class: "links" });
  function draw() {
    const word = filter.value.trim().toLowerCase();
    const fits = names.filter((name) => name.includes(word));
    replace(
      links,
      fits.slice(0, MOST).map((name) => h("a", { href: `${address("t", name)}/` }, name)),
    );
  }
  draw();
  const count = all ? many(names.length, "tenant") : `the first ${many(names.length, "tenant")}`;
  listed.append(
    h("p", { class: "muted" }, names.length ? count : "You may look into no tenant yet."),
    filter,
    links,
  );
}

async function showState(state, { minutes, changes, tokens, certificates }, { query, signal }) {
  const chart = h("div", { class: "chart" });
  const total = (column) => minutes.reduce((sum, row) => sum + row[column], 0);
  const ending = [
    ...certificates.filter((c) => c.soon).map((c) => [c.name, c.subject, c.expires]),
    ...tokens.map((t) => [`token ${t.id}`, `${t.user}, ${t.tenant || "all tenants"}`, t.expires]),
  ];
  replace(
    state,
    panel(
      `Last hour: ${many(total(1), "write")}, ${total(2)} refused, ${total(3)} failed`,
      chart,
    ),
    newestChanges(query, changes, signal),
    ending.length ? panel("Ends within two weeks", table(ENDING, ending)) : null,
  );
  await draw(chart, minutes);
}

const ENDING = [
  ["What", (row) => row[0]],
  ["Whose", (row) => row[1]],
  ["Expires", (row) => row[2]],
];

/** Minutes in which nothing happened are no rows of the answer. */
async function draw(chart, minutes) {
  const now = Math.floor(Date.now() / 60000) * 60;
  const times = Array.from({ length: HOUR }, (_, i) => now - (HOUR - 1 - i) * 60);
  const known = new Map(minutes.map((row) => [row[0], row]));
  const column = (at) => times.map((time) => known.get(time)?.[at] ?? 0);
  const [{ default: Chart }] = await Promise.all([import("../vendor/uplot.js"), style()]);
  const colour = (name) => getComputedStyle(chart).getPropertyValue(name).trim() || "gray";
  const line = (label, name) => ({ label, stroke: colour(name), width: 2 });
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 } };
  new Chart(
    {
      width: chart.clientWidth || 900,
      height: 160,
      series: [{}, line("writes", "--accent"), line("refused", "--warn"), line("failed", "--bad")],
      axes: [axis, { ...axis, size: 44 }],
    },
    [times, column(1), column(2), column(3)],
    chart,
  );
}

function style() {
  if (document.querySelector("link[data-chart]")) return undefined;
  const href = new URL("../vendor/uplot.css", import.meta.url).href;
  const link = h("link", { rel: "stylesheet", href, "data-chart": "" });
  const loaded = new Promise((done) => link.addEventListener("load", done, { once: true }));
  document.head.append(link);
  return loaded;
}
