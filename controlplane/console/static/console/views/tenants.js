// Tenants, the largest first: what they use and may use, and making one.

import { guarded, right, styled } from "../change/ui.js";
import { api } from "../lib/api.js";
import { failure, open } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { field, table } from "../lib/plain.js";
import { address, go, pathOf } from "../lib/router.js";
import { age, exact } from "../lib/time.js";
import { bytes, number } from "../lib/units.js";

export const TENANTS = "/apis/tenancy.polyplane.dev/v1/tenants";
const GROUP = "tenancy.polyplane.dev";

const RESOURCE = { group: GROUP, version: "v1", resource: "tenants", namespaced: false };

/** Whether one may do something to tenants, or the one of a name. */
export function mayDo(verb, name = "") {
  return right({ tenant: "default", resource: RESOURCE, name }, { verb });
}

export default async function view({ root, signal }) {
  const [{ items }, may] = await Promise.all([
    fact("/tenants", {}, signal), mayDo("create"), styled()]);
  const create = guarded("default", "Create tenant", may, { onclick: made });
  replace(root, h("div", { class: "toolbar" }, h("h1", {}, "Tenants"), create), table(COLUMNS, items, "No tenant is yours to see."));
}

export function share(used, limit) {
  if (!limit) return h("span", { class: "muted" }, "no limit");
  const part = Math.round((100 * used) / limit);
  return h("span", { class: part >= 90 ? "bad" : part >= 75 ? "warn" : "" }, `${part} %`);
}

const COLUMNS = [
  ["Name", (row) => h("a", { href: address("tenants", row.name) }, row.name)],
  ["Display name", (row) => row.displayName],
  ["State", (row) => h("span", { class: `badge ${row.state === "active" ? "good" : "warn"}` }, row.state)],
  ["Objects", (row) => number(row.objects), "numeric"],
  ["of quota", (row) => share(row.objects, row.limits.objects), "numeric"],
  ["Bytes", (row) => bytes(row.bytes), "numeric"],
  ["of quota", (row) => share(row.bytes, row.limits.bytes), "numeric"],
  ["Log", (row) => bytes(row.logBytes), "numeric"],
  ["Owners", (row) => row.owners.join(", ")],
  ["Expires", (row) => (row.expires ? exact(Date.parse(row.expires)) : "")],
  ["Age", (row) => age(row.created)],
];

function made() {
  return open("Create tenant", (close) => {
    const said = h("div", {});
    const template = h("select", { name: "template" }, h("option", { value: "" }, "no template"));
    api().get("/apis/tenancy.polyplane.dev/v1/tenanttemplates?limit=500").then(
      ({ items }) => template.append(...items.map(({ metadata: { name } }) => h("option", { value: name }, name))),
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
      field("Name", "name", { required: true }),
      field("Display name", "display"),
      field("Owner (a user)", "owner"),
      h("label", { class: "field" }, "Template", template),
      said,
      h("footer", {}, h("button", { type: "submit", class: "button primary" }, "Create")),
    );
  });
}
