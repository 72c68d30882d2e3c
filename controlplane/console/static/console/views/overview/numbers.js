// What there is in the installation, who has most of it or little left, and what fails.

import { h } from "../../lib/dom.js";
import { panel, table } from "../../lib/plain.js";
import { address } from "../../lib/router.js";
import { bytes, number } from "../../lib/units.js";

const QUOTAS = {
  objects: "objects",
  bytes: "bytes",
  logBytes: "bytes of history",
  hourBytes: "bytes written this hour",
};

/** One line of numbers. */
export function totals(facts) {
  const { tenants, objects, watches } = facts;
  const numbers = [
    ["tenants", number(tenants)],
    ["objects", number(objects)],
    ["of objects", bytes(facts.bytes)],
    ["of history", bytes(facts.logBytes)],
    ["written this hour", bytes(facts.hourBytes)],
    ["watches open", number(watches)],
  ];
  const line = ([what, count]) => h("li", {}, h("b", {}, count), ` ${what}`);
  return h("ul", { class: "numbers", "aria-label": "What there is" }, numbers.map(line));
}

export function largest(rows) {
  const columns = [
    ["Tenant", ({ name }) => page(name)],
    ["Objects", (row) => number(row.objects), "numeric"],
    ["Bytes", (row) => bytes(row.bytes), "numeric"],
    ["History", (row) => bytes(row.logBytes), "numeric"],
  ];
  return panel("Largest tenants", table(columns, rows));
}

export function full(rows) {
  const share = (row) => `${Math.round(row.share * 100)}%`;
  const columns = [
    ["Tenant", ({ name }) => page(name)],
    ["Quota", ({ quota }) => QUOTAS[quota] ?? quota],
    ["Used", (row) => h("span", { class: row.share >= 0.9 ? "bad" : "warn" }, share(row)), "numeric"],
  ];
  return panel("Near their quota", table(columns, rows, "No tenant uses three quarters of one."));
}

/** Webhooks and policies, counted since the workers began. */
export function failing(rows) {
  if (!rows.length) return null;
  const links = ({ tenants }) =>
    tenants.map((name, at) => [
      at ? ", " : "",
      h("a", { href: address("t", name, "admission") }, name),
    ]);
  const columns = [
    ["Name", ({ name }) => name || "(too many names)", "name"],
    ["Kind", ({ resource }) => resource],
    ["Failures since the workers began", (row) => h("span", { class: "bad" }, number(row.failures)), "numeric"],
    ["Tenants that have it", links, "wrap"],
  ];
  return panel(`Failing webhooks and policies: ${number(rows.length)}`, table(columns, rows));
}

function page(name) {
  return h("a", { href: address("tenants", name) }, name);
}
