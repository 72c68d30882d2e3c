// Links between roles, bindings, subjects and whom they concern; those to the access page stand on
// the pages of objects.

import { breakable, h } from "../lib/dom.js";
import { groupPart } from "../lib/discovery.js";
import { contribute } from "../lib/parts.js";
import { address } from "../lib/router.js";
import { GROUP, KINDS, named, subjectOf } from "./questions.js";

const MOST = 4; // subjects named on a binding's page; the rest is in its YAML

/** The page of a role or a binding {kind, namespace, name}. */
export function sourceLink(tenant, source) {
  const resource = KINDS[source.kind];
  if (!resource) return named(source);
  const to = address("t", tenant, GROUP, resource.resource, source.namespace || "-", source.name);
  return h("a", { href: to, title: source.kind }, breakable(source.name));
}

/** What a subject may do. */
export function subjectLink(tenant, subject, label = named(subject)) {
  return h("a", { href: accessPage(tenant, asked(subject)) }, breakable(label));
}

/** The query of the access page that asks about a subject. */
export function asked({ kind, name, namespace }) {
  return { kind, subject: name, ...(namespace ? { in: namespace } : {}) };
}

function accessPage(tenant, query) {
  return `${address("t", tenant, "access")}?${new URLSearchParams(query)}`;
}

contribute("object:tools", ({ tenant, resource, object }) =>
  object ? h("span", { class: "access-links" }, links(tenant, resource, object)) : null,
);

function links(tenant, resource, object) {
  const { namespace = "", name } = object.metadata;
  const what = `${resource.resource}${resource.group ? `.${resource.group}` : ""}`;
  const about = { verb: "get", what, name, ...(namespace ? { namespace } : {}) };
  const who = h("a", { class: "button", href: accessPage(tenant, about), title: "Who may read or change this" }, "Who has access?");
  if (groupPart(resource) === "core" && resource.resource === "serviceaccounts") {
    return [who, button(tenant, { kind: "ServiceAccount", name, namespace }, "What may it do?")];
  }
  if (resource.group !== GROUP || !object.subjects) return who;
  const subjects = object.subjects.map((subject) => subjectOf(subject, { namespace }));
  return [who, subjects.slice(0, MOST).map((subject) => button(tenant, subject, `What may ${named(subject)} do?`))];
}

function button(tenant, subject, label) {
  return h("a", { class: "button", href: accessPage(tenant, asked(subject)) }, label);
}
