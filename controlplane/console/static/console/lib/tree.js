// The kinds of a tenant at the side, with how many objects there are of each.

import { count, forget } from "./counts.js";
import { groupPart } from "./discovery.js";
import { h, replace } from "./dom.js";
import { fullName, sections } from "./kinds.js";
import { address } from "./router.js";
import { keep, recall } from "./state.js";
import { number, short } from "./units.js";

const SOON = 1000; // milliseconds until what has changed is counted, and between two counts at least
const OPEN = ["Workloads", "Configuration", "Network"];

export class Tree {
  constructor() {
    this.filter = h("input", {
      type: "search",
      placeholder: "Filter kinds",
      "aria-label": "Filter kinds",
      oninput: () => this.draw(),
    });
    this.list = h("nav", { class: "kinds", "aria-label": "Kinds" });
    this.element = h("div", { class: "tree" }, this.filter, this.list);
    this.opened = new Set(recall("sections", OPEN));
    this.counters = new Set(); // each counts one line of those that are shown
    this.numbers = new Map(); // full name -> how many are shown there
    this.waiting = false;
    this.state = { tenant: "", resources: [], namespace: "", chosen: "" };
  }

  show(tenant, resources, namespace, params) {
    const chosen = params.resource ? `${params.group}/${params.resource}` : "";
    this.state = { tenant, resources, namespace, chosen };
    this.draw();
  }

  clear() {
    replace(this.list);
    this.counters.clear();
  }

  /** Something was made or deleted: counts anew, without moving anything. listed: {name, count} of
   *  a resource as somebody has just listed it; where the same is shown there is nothing to do. */
  recount(listed = null) {
    if (listed && [undefined, listed.count].includes(this.numbers.get(listed.name))) return;
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      forget();
      for (const counter of this.counters) counter();
    }, SOON);
  }

  draw() {
    const { resources, chosen } = this.state;
    const word = this.filter.value.trim().toLowerCase();
    this.counters.clear();
    this.numbers = new Map(); // those of before may still come
    const fits = (one) =>
      !word ||
      [fullName(one), one.kind, ...one.shortNames].some((n) => n.toLowerCase().includes(word));
    replace(
      this.list,
      sections(resources.filter(fits)).map(([title, list]) => {
        const holds = list.some((one) => `${groupPart(one)}/${one.resource}` === chosen);
        return this.section(title, list, Boolean(word) || holds || this.opened.has(title));
      }),
    );
  }

  section(title, list, open) {
    const body = h("ul", {});
    const fill = () =>
      replace(
        body,
        list.map((one) => this.line(one)),
      );
    const details = h("details", { open }, h("summary", {}, title), body);
    if (open) fill();
    details.addEventListener("toggle", () => {
      if (details.open && !body.childElementCount) fill();
      if (this.filter.value) return;
      if (details.open) this.opened.add(title);
      else this.opened.delete(title);
      keep("sections", [...this.opened]);
    });
    return details;
  }

  line(resource) {
    const { numbers } = this;
    const { tenant, namespace, chosen } = this.state;
    const here = `${groupPart(resource)}/${resource.resource}` === chosen;
    const query =
      namespace && resource.namespaced ? `?namespace=${encodeURIComponent(namespace)}` : "";
    const shown = h("span", { class: "count" });
    const link = h(
      "a",
      {
        href: address("t", tenant, groupPart(resource), resource.resource) + query,
        "aria-current": here ? "page" : null,
        title: [fullName(resource), ...resource.shortNames].join(", "),
      },
      h("span", {}, resource.kind),
      shown,
    );
    const counter = async () => {
      const found = await count(tenant, resource, namespace);
      numbers.set(fullName(resource), found);
      shown.textContent = found === null ? "" : short(found);
      if (found !== null) shown.title = number(found);
      link.classList.toggle("empty", found === 0);
    };
    this.counters.add(counter);
    counter();
    return h("li", {}, link);
  }
}
