// The installation: workers, slow requests, logs, database, leases, certificates, settings in force.

import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { panel, table } from "../lib/plain.js";
import { refreshed } from "../lib/refresh.js";
import { address } from "../lib/router.js";
import { age, duration, exact } from "../lib/time.js";
import { bytes, many, number } from "../lib/units.js";

export default async function view({ root, signal }) {
  const about = h("span", { class: "muted" });
  const head = h("div", { class: "toolbar" }, h("h1", {}, "System"), about, h("span", { class: "grow" }));
  const panels = h("div", {});
  root.tabIndex = 0; // nothing in it takes the focus, and keys have to scroll it
  root.append(head, panels);
  const draw = async () => {
    const system = await fact("/system", {}, signal);
    if (signal.aborted) return;
    replace(about, `Polyplane ${system.version}, API of Kubernetes ${system.kubernetes}`);
    replace(panels, drawn(system));
  };
  head.append(await refreshed(root, draw, signal));
}

function drawn({ database, ...system }) {
  return [
    panel("Workers", table(WORKERS, system.workers, "No supervisor has started this server: its /metrics tell.")),
    panel("Requests, the slowest kinds first", table(SLOWEST, system.slowest, "Nothing was asked yet."), h("p", { class: "muted" }, "Since the workers began.")),
    panel("Slowest requests of the last hour", table(SLOW, system.slowestRequests, "Nothing was asked."), h("p", { class: "muted" }, SHOWN)),
    panel("Logs, the largest first", table(LOGS, system.logs)),
    panel(`Database: ${bytes(database.bytes)}, PostgreSQL ${database.version}, up ${duration(database.upSeconds * 1000)}`, table([["Table", (t) => t.name], ["Size", (t) => bytes(t.bytes), "numeric"], ["Partitions", (t) => String(t.partitions), "numeric"]], database.tables)),
    panel("Connections", table([["Application", (c) => c.application], ["State", (c) => c.state], ["Connections", (c) => String(c.connections), "numeric"], ["Longest statement", (c) => `${c.longestSeconds.toFixed(1)} s`, "numeric"]], system.connections)),
    panel("Duties", table([["Lease", (l) => l.name], ["Holder", (l) => l.holder], ["Until", (l) => [at(l.until), Date.parse(l.until) < Date.now() ? h("span", { class: "muted" }, " (ended)") : null]]], system.leases)),
    panel("Certificates", table([["", (c) => c.name], ["Subject", (c) => c.subject], ["Expires", (c) => h("span", { class: c.soon ? "bad" : "" }, at(c.expires))]], system.certificates)),
    panel("Settings in force", table([["Setting", (s) => s[0]], ["Value", (s) => s[1]]], Object.entries(system.settings), "All are the defaults.")),
  ];
}

/** A time as everywhere in the console. */
function at(time) {
  return h("time", { datetime: time }, exact(Date.parse(time)));
}

const WORKERS = [
  ["Process", (w) => w.pid],
  ["Requests", (w) => number(w.requests), "numeric"],
  ["Failed (5xx)", (w) => h("span", { class: w.errors ? "bad" : "" }, number(w.errors)), "numeric"],
  ["Being served", (w) => number(w.inflight), "numeric"],
  ["Watches", (w) => number(w.watches), "numeric"],
  ["Behind the log", (w) => behind(w.behind), "numeric"],
];

const SLOWEST = [
  ["Verb", (r) => r.verb],
  ["Resource", (r) => what(r)],
  ["Requests", (r) => number(r.requests), "numeric"],
  ["Mean", (r) => `${(r.meanSeconds * 1000).toFixed(1)} ms`, "numeric"],
  ["99 of 100 within", (r) => (r.p99Seconds === null ? "over a minute" : `${r.p99Seconds * 1000} ms`), "numeric"],
  ["Longer than 1 s", (r) => h("span", { class: r.slow ? "bad" : "" }, number(r.slow)), "numeric"],
];

function what({ group, resource, subresource }) {
  if (!resource) return `/${subresource.replace(/^\//, "")}`; // a path, or the beginning of one
  return [group ? `${resource}.${group}` : resource, subresource && `/${subresource}`];
}

/** What they are, and what is not told of them. */
const SHOWN =
  "Watches, and whatever else lasts as long as its client likes, are left out. A duration leads to the audit log, which has an entry where the policy keeps one. “…” stands for parameters that may hold what is secret.";

const SLOW = [
  ["Time", (r) => at(r.at)],
  ["Took", (r) => h("a", { href: entries(r), title: `Audit ID ${r.auditID}` }, seconds(r.seconds)), "numeric"],
  ["Verb", (r) => r.verb],
  ["Path", (r) => r.path, "wrap"],
  ["User", (r) => (r.as ? `${r.user} as ${r.as}` : r.user), "name"],
  ["Tenant", (r) => r.tenant, "name"],
  ["Code", (r) => h("span", { class: r.code >= 400 ? "bad" : "" }, String(r.code)), "numeric"],
];

/** The page of the audit log with what a request has left there. */
function entries({ auditID, since, until }) {
  return `${address("audit")}?${new URLSearchParams({ auditID, since, until, show: "all" })}`;
}

function seconds(number) {
  return number < 1 ? `${(number * 1000).toFixed(1)} ms` : `${number.toFixed(2)} s`;
}

const LOGS = [
  ["Tenant", (l) => h("a", { href: address("tenants", l.tenant) }, l.tenant)],
  ["Log", (l) => bytes(l.bytes), "numeric"],
  ["Begins", (l) => (l.begins ? [age(l.begins), " ago"] : "nothing is left")],
  ["Retention", (l) => duration(l.retentionSeconds * 1000)],
  ["Compacted up to", (l) => l.oldest, "numeric"],
  ["Newest version", (l) => l.newest, "numeric"],
  ["Search is behind", (l) => behind(l.searchBehind), "numeric"],
  ["Counts are behind", (l) => behind(l.countsBehind), "numeric"],
];

/** In versions. */
function behind(versions) {
  return h("span", { class: versions > 1000 ? "warn" : "" }, versions ? many(versions, "version") : "no");
}
