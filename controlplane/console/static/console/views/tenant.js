// A tenant's page: what it holds, by kind, kept up to date, and what other views have to say of it.

import { api } from "../lib/api.js";
import { count, forget } from "../lib/counts.js";
import { groupPart, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { fullName, sections } from "../lib/kinds.js";
import { parts } from "../lib/parts.js";
import { address } from "../lib/router.js";
import { account } from "../lib/state.js";
import { number } from "../lib/units.js";
import { within } from "../lib/waysout.js";
import { use } from "./tenant/use.js";

const NAMESPACES = { group: "", version: "v1", resource: "namespaces", namespaced: false };
const EVERY = 2000; // milliseconds between looks at whether anything was written

export default async function tenant({ tenant: name, query, root, signal }) {
  const namespace = query.get("namespace") ?? "";
  const holds = h("div", { class: "columns" });
  const served = await resources(name); // of a tenant that is not there nothing is shown but that
  root.append(
    h("h1", { class: "page" }, name),
    h("p", {}, link(name, "past", "Past"), " ", link(name, "deleted", "Deleted objects")),
    use(name, signal),
    ...parts("tenant", { tenant: name, signal }),
    h("h2", { class: "page" }, namespace ? `What namespace ${namespace} holds` : "What it holds"),
    holds,
  );
  const inventory = new Inventory(name, namespace, sections(served), holds);
  const may = await api(name).can("list", "", "namespaces");
  const seen = may.allowed ? await versionOf(name, signal) : "";
  forget(); // what was counted before that version may miss what was written until then
  await inventory.count(signal);
  await follow(name, seen, signal, () => {
    forget();
    return inventory.count(signal);
  });
}

function link(tenant, page, title) {
  return h("a", { class: "button", href: address("t", tenant, page) }, title);
}

/** How many objects there are of each kind, shown in an element. */
class Inventory {
  constructor(tenant, namespace, listed, root) {
    Object.assign(this, { tenant, namespace, listed, root });
    this.kinds = listed.flatMap(([, kinds]) => kinds).filter((kind) => !namespace || kind.namespaced);
    this.counts = new Map();
    this.lines = new Map(); // kind -> {link, shown}, of those that are shown
    this.has = (kind) => Boolean(this.counts.get(kind));
  }

  async count(signal) {
    const found = await Promise.all(
      this.kinds.map((kind) => count(this.tenant, kind, this.namespace)),
    );
    if (signal.aborted) return;
    this.kinds.forEach((kind, at) => this.counts.set(kind, found[at]));
    const wanted = this.kinds.filter(this.has);
    const same = wanted.length === this.lines.size && wanted.every((kind) => this.lines.has(kind));
    if (!same) this.build();
    if (!wanted.length) replace(this.root, await this.nothing());
    for (const kind of wanted) this.tell(this.lines.get(kind).shown, number(this.counts.get(kind)));
  }

  /** There are namespaces in every tenant, and ConfigMaps in every namespace: who sees none may not. */
  async nothing() {
    const query = new URLSearchParams({ kind: "User", subject: account() });
    const mine = h("a", { href: `${address("t", this.tenant, "access")}?${query}` }, "What you may do");
    const to = (namespace) => `${address("t", this.tenant)}/?${new URLSearchParams({ namespace })}`;
    const ways = this.namespace ? null : await within(this.tenant, to);
    return h("div", {}, h("p", { class: "muted" }, "Nothing that you may list. ", mine), ways);
  }

  /** Anew; the link that has the focus keeps it. */
  build() {
    const focused = [...this.lines].find(([, { link }]) => link === document.activeElement)?.[0];
    const before = this.lines;
    this.lines = new Map(
      this.kinds.filter(this.has).map((kind) => [kind, before.get(kind) ?? this.line(kind)]),
    );
    const held = this.listed.map(([title, kinds]) => [title, kinds.filter(this.has)]);
    replace(
      this.root,
      held.filter(([, kinds]) => kinds.length).map(([title, kinds]) => this.panel(title, kinds)),
    );
    this.lines.get(focused)?.link.focus();
  }

  panel(title, kinds) {
    const lines = kinds.map((kind) => this.lines.get(kind));
    return h(
      "section",
      { class: "panel" },
      h("h3", {}, title),
      h(
        "dl",
        { class: "kv counts" },
        lines.map(({ link, shown }) => [h("dt", {}, link), shown]),
      ),
    );
  }

  line(kind) {
    const list = address("t", this.tenant, groupPart(kind), kind.resource);
    const query = new URLSearchParams({ namespace: this.namespace });
    const href = this.namespace ? `${list}?${query}` : list;
    return { link: h("a", { href, title: fullName(kind) }, kind.kind), shown: h("dd", {}) };
  }

  tell(shown, text) {
    shown.classList.toggle("fresh", shown.textContent !== "" && shown.textContent !== text);
    if (shown.textContent !== text) shown.textContent = text;
  }
}

/** For whoever may list namespaces. */
async function versionOf(name, signal) {
  const list = await api(name).list(NAMESPACES, { metadata: true, limit: 1, signal });
  return list.metadata.resourceVersion;
}

/** Calls back when the tenant's version is another than the one that was seen. Whoever may not ask
 *  for it ("") is shown what there was. */
async function follow(name, seen, signal, moved) {
  while (seen && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, EVERY));
    if (signal.aborted || document.hidden) continue;
    const now = await versionOf(name, signal).catch(() => seen); // the server is away for a moment
    if (now === seen) continue;
    seen = now;
    await moved();
  }
}
