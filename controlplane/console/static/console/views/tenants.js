// Tenants, the largest first: what they use and may use, and making one.

import { guarded, right, styled } from "../change/ui.js";
import { api } from "../lib/api.js";
import { failure, open } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { button, field, sortable } from "../lib/plain.js";
import { address, go, pathOf } from "../lib/router.js";
import { age, exact } from "../lib/time.js";
import { bytes, number } from "../lib/units.js";

export const TENANTS = "/apis/tenancy.polyplane.dev/v1/tenants";
const GROUP = "tenancy.polyplane.dev";

const TEMPLATES = address("t", "default", GROUP, "tenanttemplates");
const RESOURCE = { group: GROUP, version: "v1", resource: "tenants", namespaced: false };

/** Whether one may do something to tenants, or the one of a name. */
export function mayDo(verb, name = "") {
  return right({ tenant: "default", resource: RESOURCE, name }, { verb });
}

export default async function view({ root, signal }) {
  const [{ items }, may] = await Promise.all([
    fact("/tenants", {}, signal), mayDo("create"), styled()]);
  const create = guarded("default", "Create tenant", may, { onclick: made });
  const listed = h("div", {});
  const draw = () => {
    const found = items.filter((row) => fits(row, filter.value));
    const nothing = items.length ? "Nothing fits the filter." : "No tenant is yours to see.";
    replace(listed, sortable(COLUMNS, found, nothing));
  };
  const filter = h("input", {
    type: "search",
    class: "filter",
    placeholder: "Filter: name, owner, state",
    "aria-label": "Filter tenants",
    oninput: draw,
  });
  replace(root, h("div", { class: "toolbar" }, h("h1", {}, "Tenants"), filter, create), listed);
  draw();
}

/** Each word is in its name, display name, state or owners. */
function fits({ name, displayName, state, owners }, typed) {
  const text = [name, displayName, state, ...owners].join(" ").toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export function share(used, limit) {
  if (!limit) return h("span", { class: "muted" }, "no limit");
  const percent = Math.round(100 * part(used, limit));
  return h("span", { class: percent >= 90 ? "bad" : percent >= 75 ? "warn" : "" }, `${percent}%`);
}

function part(used, limit) {
  return limit ? used / limit : 0;
}

const COLUMNS = [
  ["Name", (row) => h("a", { href: address("tenants", row.name) }, row.name), null, (row) => row.name],
  ["Display name", (row) => row.displayName, null, (row) => row.displayName],
  ["State", (row) => h("span", { class: `badge ${row.state === "active" ? "good" : "warn"}` }, row.state), null, (row) => row.state],
  ["Objects", (row) => number(row.objects), "numeric", (row) => row.objects],
  ["of quota", (row) => share(row.objects, row.limits.objects), "numeric", (row) => part(row.objects, row.limits.objects)],
  ["Bytes", (row) => bytes(row.bytes), "numeric", (row) => row.bytes],
  ["of quota", (row) => share(row.bytes, row.limits.bytes), "numeric", (row) => part(row.bytes, row.limits.bytes)],
  ["History", (row) => bytes(row.logBytes), "numeric", (row) => row.logBytes],
  ["of quota", (row) => share(row.logBytes, row.limits.logBytes), "numeric", (row) => part(row.logBytes, row.limits.logBytes)],
  ["Owners", (row) => row.owners.join(", ")],
  ["Expires", (row) => (row.expires ? exact(Date.parse(row.expires)) : ""), null, (row) => row.expires || "~"],
  ["Age", (row) => age(row.created), null, (row) => row.created],
];

function made() {
  return open("Create tenant", (close) => {
    const said = h("div", {});
    const hint = h("p", { class: "muted" });
    const template = h("select", { name: "template" }, h("option", { value: "" }, "no template"));
    api().get("/apis/tenancy.polyplane.dev/v1/tenanttemplates?limit=500").then(
      ({ items }) => {
        template.append(...items.map(({ metadata: { name } }) => h("option", { value: name }, name)));
        if (!items.length) replace(hint, "There is none yet: ", h("a", { href: TEMPLATES, onclick: () => close() }, "templates"), " are objects of tenant default.");
      },
      () => {}, // who may not list them makes tenants without
    );
    const submit = async (event) => {
      event.preventDefault();
      const values = new FormData(event.target);
      const spec = { displayName: values.get("display") };
      if (values.get("owner")) spec.owners = [{ kind: "User", name: values.get("owner") }];
      if (values.get("template")) spec.templates = [{ name: values.get("template") }];
      const metadata = { name: values.get("name") };
      try {
        await api().send("POST", TENANTS, { apiVersion: `${GROUP}/v1`, kind: "Tenant", metadata, spec });
        close(true);
        go(pathOf("tenants", metadata.name));
      } catch (error) {
        replace(said, failure(error));
      }
    };
    return h(
      "form",
      { onsubmit: submit },
      field("Name", "name", { required: true, placeholder: "lower case letters, digits and -" }),
      field("Display name", "display"),
      field("Owner (a user)", "owner"),
      h("label", { class: "field" }, "Template", template),
      hint,
      said,
      h("footer", {}, button("Cancel", () => close()), h("button", { type: "submit", class: "button primary" }, "Create")),
    );
  });
}
