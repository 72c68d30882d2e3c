// What there was as of a time, of a namespace or of what is in none.

import { fieldSelectorOf } from "../lib/api.js";
import { h, replace } from "../lib/dom.js";
import { failure } from "../lib/dialog.js";
import { groupPart, resourceOf, resources } from "../lib/discovery.js";
import { address, remember } from "../lib/router.js";
import { age } from "../lib/time.js";
import { styled } from "./object/style.js";

const ROOT = "/apis/history.polyplane.dev/v1";

export default async function past(context) {
  await styled();
  await new Past(context).begin();
}

class Past {
  constructor({ tenant, query, root, signal }) {
    Object.assign(this, { tenant, query, root, signal });
    this.note = h("p", { class: "muted", role: "status" });
    this.body = h("tbody", {});
    this.foot = h("div", { class: "bar" });
  }

  async begin() {
    const { tenant, query, root } = this;
    const now = new Date(Date.now() - 5 * 60_000);
    const field = (label, name, value, more = {}) =>
      h(
        "label",
        {},
        `${label} `,
        h("input", { type: "text", name, value, autocomplete: "off", ...more }),
      );
    const resource = query.get("resource") ?? "";
    const group = query.get("group") ?? "";
    const kinds = (await resources(tenant)).map((one) =>
      one.group ? `${one.resource}.${one.group}` : one.resource,
    );
    const form = h(
      "form",
      { class: "bar", onsubmit: (event) => (event.preventDefault(), this.ask(new FormData(form))) },
      field("As of", "at", query.get("at") ?? now.toISOString().replace(/\.\d+/, ""), {
        size: "24",
        required: true,
      }),
      field("Namespace", "namespace", query.get("namespace") ?? "", {
        placeholder: "none: of the cluster",
      }),
      field("Kind", "kind", group ? `${resource}.${group}` : resource, {
        list: "kinds",
        placeholder: "all",
      }),
      field("Labels", "labels", query.get("labels") ?? ""),
      h(
        "datalist",
        { id: "kinds" },
        kinds.map((value) => h("option", { value })),
      ),
      h("button", { type: "submit", class: "button primary" }, "Show"),
    );
    const heads = ["Object", "Revision", "Last change before", "Manager", "Verb"];
    root.classList.add("object");
    root.append(
      h("h1", {}, `${tenant} as of a time`),
      h(
        "p",
        { class: "muted" },
        "A time (2026-01-31T14:05:00Z) or a resourceVersion, as far back as the log reaches.",
      ),
      form,
      this.note,
      h(
        "table",
        { class: "list" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((text) => h("th", {}, text)),
          ),
        ),
        this.body,
      ),
      this.foot,
    );
    if (query.get("at")) await this.ask(new FormData(form));
  }

  async ask(form, next = "") {
    const [at, namespace, kind, labels] = ["at", "namespace", "kind", "labels"].map((name) =>
      form.get(name).trim(),
    );
    const [resource, ...group] = kind.split(".");
    remember({ at, namespace, resource, group: group.join("."), labels });
    const path = namespace
      ? `${ROOT}/namespaces/${encodeURIComponent(namespace)}/revisions`
      : `${ROOT}/clusterrevisions`;
    const selected = fieldSelectorOf({ asOf: at, ...(kind ? { "object.resource": kind } : {}) });
    const query = new URLSearchParams({ fieldSelector: selected, limit: "100" });
    if (labels) query.set("labelSelector", labels);
    if (next) query.set("continue", next);
    try {
      await this.draw(await this.api(path, query), form, Boolean(next));
    } catch (error) {
      replace(this.body);
      replace(this.foot, failure(error));
    }
  }

  async api(path, query) {
    const { api } = await import("../lib/api.js");
    return api(this.tenant).get(`${path}?${query}`, { signal: this.signal });
  }

  async draw(page, form, below) {
    const rows = await Promise.all(page.items.map((item) => this.row(item)));
    if (below) this.body.append(...rows);
    else replace(this.body, rows);
    const more = page.metadata.continue;
    const count = this.body.children.length;
    replace(
      this.note,
      `${count}${more ? "+" : ""} objects as of resourceVersion ${page.metadata.resourceVersion}`,
    );
    const go = () => this.ask(form, more);
    replace(
      this.foot,
      more && h("button", { type: "button", class: "button", onclick: go }, "More"),
    );
  }

  async row(item) {
    const { name, namespace = "" } = item.objectRef;
    const [plural, ...group] = item.resource.split(".");
    const resource = await resourceOf(this.tenant, group.join("."), plural);
    const to =
      resource && address("t", this.tenant, groupPart(resource), plural, namespace || "-", name);
    const number = item.metadata.name;
    const text = [h("b", {}, item.objectRef.kind ?? item.resource), ` ${name}`];
    return h(
      "tr",
      {},
      h("td", {}, to ? h("a", { href: `${to}?revision=${number}` }, text) : text),
      h("td", {}, number),
      h("td", {}, age(item.time), " ago"),
      h("td", {}, item.manager ?? ""),
      h("td", {}, item.verb ?? ""),
    );
  }
}
