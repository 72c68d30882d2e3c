// The page of one object: what it is, and tabs for what there is to know of it.

import { coalesced } from "../lib/coalesce.js";
import { h, renew, replace } from "../lib/dom.js";
import { groupPart, resourceOf } from "../lib/discovery.js";
import { failure, menu, notify } from "../lib/dialog.js";
import { commands } from "../lib/kubectl.js";
import { parts } from "../lib/parts.js";
import { address, remember } from "../lib/router.js";
import { Subject } from "../lib/subject.js";
import { age } from "../lib/time.js";
import { unserved } from "../lib/waysout.js";
import { styled } from "./object/style.js";

const TABS = [
  ["yaml", "YAML", () => import("./object/yaml.js")],
  ["blame", "Blame", () => import("./object/blame.js")],
  ["history", "History", () => import("./object/history.js")],
  ["events", "Events", () => import("./object/events.js")],
  ["owners", "Owners & references", () => import("./object/owners.js")],
  ["stuck", "Why is it stuck", () => import("./object/stuck.js")],
];

export default async function object({ tenant, params, query, root, signal }) {
  const resource = await resourceOf(tenant, params.group, params.resource);
  if (!resource) {
    root.append(unserved(tenant, params.resource));
    return;
  }
  const namespace = params.namespace === "-" ? "" : params.namespace;
  const page = new Page(
    new Subject(tenant, resource, namespace, params.name, () => page.update()),
    {
      root,
      signal,
    },
  );
  await styled();
  await page.subject.load(signal);
  page.query = query;
  page.begin();
  await page.subject.follow(signal);
}

/** What tabs are given: the subject; `signal`, aborted when another tab is shown; `panel`, to be
 *  filled; `query` of the address; `page`, to go to other tabs. A tab returns a function that is
 *  called when the subject has changed. */
class Page {
  constructor(subject, { root, signal }) {
    Object.assign(this, { subject, root, signal });
    this.head = h("header", { class: "object-head" });
    this.labels = h("div", {});
    this.tabs = h("nav", { class: "tabs", role: "tablist", "aria-label": "Views of the object" });
    this.panel = h("section", { class: "panel", role: "tabpanel", tabindex: "-1" });
  }

  begin() {
    this.root.classList.add("object");
    this.root.append(this.head, this.tabs, this.panel);
    const { name, resource, tenant } = this.subject;
    document.title = [name, resource.kind, tenant, "Polyplane"].join(" · ");
    this.heading();
    const first = this.subject.object || this.query.get("revision") ? "yaml" : "history";
    this.show(this.query.get("tab") ?? first);
  }

  update() {
    this.heading();
    this.changed?.();
  }

  /** Its labels anew; all of it only where another object is there, or is to go. An object that
   *  changes all the time takes no button from below the mouse, and closes no menu. */
  heading() {
    const { subject } = this;
    const { tenant, resource, name, object } = subject;
    const { uid, deletionTimestamp } = object?.metadata ?? {};
    const look = JSON.stringify([uid, deletionTimestamp, Boolean(subject.last), object?.subjects]);
    if (look !== this.look) {
      this.look = look;
      this.wholeHeading(name, resource);
    }
    renew(this.labels, object && labels(tenant, subject));
  }

  wholeHeading(name, resource) {
    replace(
      this.head,
      h(
        "div",
        { class: "title" },
        h("h1", {}, name),
        h("span", { class: "badge" }, resource.kind),
        this.state(),
        h("span", { class: "gap" }),
        this.tools(),
        this.menus(),
      ),
      this.labels,
    );
    this.drawTabs();
  }

  state() {
    const { object, last } = this.subject;
    if (!object) return h("span", { class: "badge bad" }, last ? "deleted" : "not there");
    const { deletionTimestamp, creationTimestamp } = object.metadata;
    const born = h("span", { class: "muted" }, "created ", age(creationTimestamp), " ago");
    if (!deletionTimestamp) return born;
    return [h("span", { class: "badge bad" }, "being deleted for ", age(deletionTimestamp)), born];
  }

  /** What can be done to it. */
  tools() {
    const { tenant, resource, object } = this.subject;
    const current = () => this.subject.object ?? object;
    return parts("object:tools", { tenant, resource, object, current });
  }

  menus() {
    const { subject } = this;
    const copied = (text) => async () => {
      await navigator.clipboard.writeText(text);
      notify(`Copied: ${text}`);
    };
    const items = () =>
      commands(subject, { deleted: !subject.object }).map(([label, command]) => ({
        label: `${label}: ${command}`,
        run: copied(command),
      }));
    return menu("Copy as kubectl", items, { id: "copy-as-kubectl" });
  }

  drawTabs() {
    const waiting = this.subject.object?.metadata.deletionTimestamp;
    const shown = TABS.filter(([name]) => name !== "stuck" || waiting || this.tab === name);
    replace(
      this.tabs,
      shown.map(([name, title]) =>
        h(
          "a",
          {
            href: `?tab=${name}`,
            role: "tab",
            class: name === "stuck" ? "warns" : "",
            "aria-selected": String(name === this.tab),
            onclick: (event) => (event.preventDefault(), this.show(name)),
          },
          title,
        ),
      ),
    );
  }

  /** Shows a tab; more: further members of the address. */
  async show(name, more = {}) {
    const [tab, , load] = TABS.find(([one]) => one === name) ?? TABS[0];
    if (this.tab || more.revision) remember({ tab, revision: "", ...more }, { back: true });
    this.query = new URLSearchParams(location.search);
    this.leave?.abort();
    const leave = (this.leave = new AbortController());
    this.signal.addEventListener("abort", () => leave.abort(), { once: true });
    Object.assign(this, { tab, changed: null });
    this.drawTabs();
    const panel = h("div", { class: `tab-${tab}` });
    replace(this.panel, panel);
    const { subject, query } = this;
    try {
      const { default: view } = await load();
      const seen = subject.object;
      const again = await view({ subject, panel, query, page: this, signal: leave.signal });
      if (leave.signal.aborted || !again) return;
      this.changed = follower(again, panel, leave.signal);
      if (subject.object !== seen) this.changed(); // it changed while the tab was made
    } catch (error) {
      if (!leave.signal.aborted) panel.append(failure(error));
    }
  }
}

/** Draws a tab anew; what goes wrong with that is told once, and no more when it goes well. */
function follower(again, panel, signal) {
  const trouble = h("div", {});
  panel.append(trouble);
  const work = async () => {
    if (signal.aborted) return;
    await again();
    replace(trouble);
  };
  return coalesced(work, (error) => !signal.aborted && replace(trouble, failure(error)));
}

function labels(tenant, { resource, object }) {
  const list = address("t", tenant, groupPart(resource), resource.resource);
  const chips = Object.entries(object.metadata.labels ?? {}).map(([name, value]) => {
    const text = `${name}=${value}`;
    return h(
      "a",
      { class: "chip", href: `${list}?label=${encodeURIComponent(text)}` },
      text,
    );
  });
  return chips.length ? h("div", { class: "chips" }, chips) : null;
}
