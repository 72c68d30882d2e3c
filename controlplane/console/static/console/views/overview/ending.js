// What ends within two weeks: tokens and certificates, of those that the reader may know of.

import { failure } from "../../lib/dialog.js";
import { h, replace } from "../../lib/dom.js";
import { fact } from "../../lib/facts.js";
import { panel, table } from "../../lib/plain.js";
import { address } from "../../lib/router.js";
import { exact } from "../../lib/time.js";

/** A panel, or nothing where nothing ends. */
export function endingSoon(signal) {
  const root = h("div");
  fact("/ending", {}, signal).then(
    (facts) => replace(root, shown(facts)),
    (error) => signal.aborted || replace(root, failure(error)),
  );
  return root;
}

function shown({ certificates, secrets, more, tokens }) {
  const rows = [...certificates.map(ofServer), ...secrets.map(ofSecret), ...tokens.map(ofToken)];
  rows.sort((one, other) => Date.parse(one.expires) - Date.parse(other.expires));
  if (!rows.length) return null;
  const left = `Of certificates in Secrets the first ${secrets.length}.`;
  return panel("Ends within two weeks", table(COLUMNS, rows), more ? h("p", { class: "muted" }, left) : null);
}

const COLUMNS = [
  ["What", (row) => row.what, "wrap"],
  ["Whose", (row) => row.whose, "wrap"],
  ["Expires", (row) => (row.ended ? h("span", { class: "bad" }, `${day(row)}, has expired`) : day(row))],
];

function day({ expires }) {
  return exact(Date.parse(expires));
}

function ofServer({ name, subject, expires }) {
  return { what: name, whose: subject, expires };
}

function ofSecret({ tenant, namespace, name, expires, ended }) {
  const to = address("t", tenant, "core", "secrets", namespace, name);
  const what = ["certificate in ", h("a", { href: to }, `secrets/${namespace}/${name}`)];
  return { what, whose: `tenant ${tenant}`, expires, ended };
}

function ofToken({ id, user, tenant, expires }) {
  const to = `${address("sessions")}?${new URLSearchParams({ user })}`;
  const whose = `${user}, ${tenant ? `tenant ${tenant}` : "all tenants"}`;
  return { what: h("a", { href: to }, `token ${id}`), whose, expires };
}
