// What the two pages of the past share: their heading, the fields by which they are asked, the
// lists of revisions that hold the answer, and what is said to those who may not read them.

import { api } from "../../lib/api.js";
import { meant, resourceOf } from "../../lib/discovery.js";
import { h } from "../../lib/dom.js";
import { fullName, isListable } from "../../lib/kinds.js";
import { address, remember } from "../../lib/router.js";
import { recall } from "../../lib/state.js";

const NAMESPACES = ["", "namespaces"];
const PAGES = [
  ["past", "Past"],
  ["deleted", "Deleted objects"],
];
export const REVISIONS = {
  group: "history.polyplane.dev",
  version: "v1",
  resource: "revisions",
  namespaced: true,
};
export const OF_CLUSTER = { ...REVISIONS, resource: "clusterrevisions", namespaced: false };

/** The title, and the way to the other page. */
export function heading(tenant, here, title) {
  document.title = `${title} · ${tenant} · Polyplane`;
  const link = ([page, text]) =>
    h(
      "a",
      { href: address("t", tenant, page), "aria-current": page === here ? "page" : null },
      text,
    );
  return [
    h("h1", {}, `${title}: ${tenant}`),
    h("nav", { class: "tabs", "aria-label": "The past" }, PAGES.map(link)),
  ];
}

// --- what is asked -------------------------------------------------------------------------------
/** A form with a namespace and a kind, out of the address, or the namespace of the side. all: what
 *  the tenant serves; ask: called when it is sent; before, behind: nodes around the two fields. */
export async function askingForm({ tenant, query, all, ask }, before, behind = []) {
  const [resource, group] = [query.get("resource") ?? "", query.get("group") ?? ""];
  const namespace = query.get("namespace") ?? (resource ? "" : recall("namespace", ""));
  const submit = (event) => (event.preventDefault(), ask());
  const kinds = all.filter((one) => isListable(one) && one.verbs.includes("delete"));
  return h(
    "form",
    { class: "bar", onsubmit: submit },
    before,
    field("Namespace", "namespace", namespace, { list: "past-namespaces", placeholder: "all" }),
    field("Kind", "kind", group ? `${resource}.${group}` : resource, {
      list: "past-kinds",
      placeholder: "all",
    }),
    known("past-namespaces", await namespacesOf(tenant)),
    known("past-kinds", kinds.map(fullName).sort()),
    behind,
    h("button", { type: "submit", class: "button primary" }, "Show"),
  );
}

export function field(label, name, value, more = {}) {
  const attributes = { type: "text", name, value, autocomplete: "off", ...more };
  return h("label", {}, `${label} `, h("input", attributes));
}

function known(id, values) {
  return h(
    "datalist",
    { id },
    values.map((value) => h("option", { value })),
  );
}

/** None for who may not list them: they are typed then. */
async function namespacesOf(tenant) {
  const { allowed } = await api(tenant).can("list", ...NAMESPACES);
  if (!allowed) return [];
  const resource = await resourceOf(tenant, ...NAMESPACES);
  const list = await api(tenant).list(resource, { metadata: true, limit: 500 });
  return list.items.map(({ metadata }) => metadata.name);
}

/** What stands in the form, by the names of its fields; the address has the same from now on. An
 *  empty namespace stays in it, as the choice of all. */
export function askedBy(form) {
  const asked = Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, value.trim()]),
  );
  const { kind, namespace, ...others } = asked;
  const [resource, ...group] = kind.split(".");
  remember({ ...others, namespace, resource, group: group.join(".") });
  if (!namespace) {
    const url = new URL(location.href);
    url.searchParams.set("namespace", "");
    history.replaceState(null, "", url);
  }
  return asked;
}

// --- where it is asked ---------------------------------------------------------------------------
/** The lists of revisions that hold what is asked about, each {resource, namespace}: those of a
 *  namespace, those of what is in none, or both for all. refused: those that the user may not read,
 *  each with the `reason`. */
export async function listsOf(tenant, all, { namespace, kind }) {
  const [found] = kind ? meant(all, kind) : [];
  const within = { resource: REVISIONS, namespace };
  const beside = { resource: OF_CLUSTER, namespace: "" };
  const both = namespace ? [within] : [within, beside];
  const wanted = found ? [found.namespaced ? within : beside] : both;
  const answers = await Promise.all(
    wanted.map(({ resource, namespace: place }) =>
      api(tenant).can("list", resource.group, resource.resource, { namespace: place }),
    ),
  );
  return {
    lists: wanted.filter((_, at) => answers[at].allowed),
    refused: wanted
      .map((list, at) => ({ ...list, ...answers[at] }))
      .filter(({ allowed }) => !allowed),
  };
}

/** What is not shown, and why; null where nothing is left out. */
export function leftOut(refused) {
  if (!refused.length) return null;
  return h(
    "div",
    { class: "banner" },
    refused.map((list) => h("p", {}, `Not shown: ${whatOf(list)}. ${whyNot(list)}`)),
  );
}

function whatOf({ resource, namespace }) {
  if (!resource.namespaced) return "objects that are in no namespace";
  return namespace ? `objects of namespace ${namespace}` : "objects of all namespaces together";
}

function whyNot({ resource, namespace, reason }) {
  const more = resource.namespaced && !namespace ? " Name a namespace in which you may." : "";
  return `You may not list ${fullName(resource)} there${reason ? ` (${reason})` : ""}.${more}`;
}

// --- one question after another ------------------------------------------------------------------
/** Whoever asks anew ends what was asked before; all ends with the view. */
export class Turns {
  constructor(signal) {
    this.signal = signal;
    signal.addEventListener("abort", () => this.turn?.abort());
  }

  /** The signal of the next question. */
  next() {
    this.turn?.abort();
    this.turn = new AbortController();
    if (this.signal.aborted) this.turn.abort();
    return this.turn.signal;
  }
}
