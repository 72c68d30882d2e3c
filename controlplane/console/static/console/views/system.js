// The installation: database, leases, certificates, settings in force.

import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { panel, table } from "../lib/plain.js";
import { duration } from "../lib/time.js";
import { bytes } from "../lib/units.js";

export default async function view({ root, signal }) {
  const system = await fact("/system", {}, signal);
  const { database } = system;
  root.tabIndex = 0; // nothing in it takes the focus, and keys have to scroll it
  replace(
    root,
    h("div", { class: "toolbar" }, h("h1", {}, "System"), h("span", { class: "muted" }, `Polyplane ${system.version}, API of Kubernetes ${system.kubernetes}`)),
    panel(`Database: ${bytes(database.bytes)}, PostgreSQL ${database.version}, up ${duration(database.upSeconds * 1000)}`, table([["Table", (t) => t.name], ["Size", (t) => bytes(t.bytes), "numeric"], ["Partitions", (t) => String(t.partitions), "numeric"]], database.tables)),
    panel("Connections", table([["Application", (c) => c.application], ["State", (c) => c.state], ["Connections", (c) => String(c.connections), "numeric"], ["Longest statement", (c) => `${c.longestSeconds.toFixed(1)} s`, "numeric"]], system.connections)),
    panel("Duties", table([["Lease", (l) => l.name], ["Holder", (l) => l.holder], ["Until", (l) => l.until]], system.leases)),
    panel("Certificates", table([["", (c) => c.name], ["Subject", (c) => c.subject], ["Expires", (c) => h("span", { class: c.soon ? "bad" : "" }, c.expires)]], system.certificates)),
    panel("Settings in force", table([["Setting", (s) => s[0]], ["Value", (s) => s[1]]], Object.entries(system.settings), "All are the defaults.")),
  );
}
