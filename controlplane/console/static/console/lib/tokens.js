// Tokens: listed, made, revoked. A secret is shown once, in the dialog that follows.

import { copier } from "./clipboard.js";
import { button, field, table } from "./plain.js";
import { confirm, failure, notify, open } from "./dialog.js";
import { h, replace } from "./dom.js";
import { save } from "./download.js";
import { fact, tell } from "./facts.js";
import { lastTenant } from "./state.js";
import { tenants } from "./tenants.js";
import { age, exact } from "./time.js";

/** A panel's content that keeps itself up to date. query: as /tokens takes it. */
export function tokenList(query, signal) {
  const root = h("div", {});
  const draw = async () => {
    try {
      const { items, more } = await fact("/tokens", query, signal);
      const left = more ? h("p", { class: "muted" }, `The newest ${items.length}.`) : null;
      replace(root, table(columns(draw), items, "There are no tokens."), left);
    } catch (error) {
      if (!signal.aborted) replace(root, failure(error));
    }
  };
  draw();
  return { root, draw };
}

function columns(changed) {
  return [
    ["Token", (row) => String(row.id)],
    ["Description", (row) => row.description, "wrap"],
    ["User", (row) => row.user],
    ["Groups", (row) => row.groups.join(", ")],
    ["Good in", (row) => row.tenant || "all tenants"],
    ["State", (row) => h("span", { class: `badge ${row.state === "valid" ? "good" : ""}` }, row.state)],
    ["Expires", (row) => (row.expires ? exact(Date.parse(row.expires)) : "never")],
    ["Last used", (row) => (row.lastUsed ? age(row.lastUsed) : "never")],
    ["", (row) => (row.revocable ? button("Revoke", () => revoke(row, changed), { class: "button danger" }) : null)],
  ];
}

async function revoke(row, changed) {
  const named = row.description ? ` (${row.description})` : "";
  const text = `Token ${row.id} of ${row.user}${named} stops working within two seconds.`;
  if (!(await confirm({ title: "Revoke token", text, action: "Revoke", danger: true }))) return;
  try {
    await tell("DELETE", `/tokens/${row.id}`);
    changed();
  } catch (error) {
    notify(error.message, { error: true });
  }
}

/** Asks what is needed for a new token. given: members of the question that are settled (tenant,
 *  kubeconfig); others: whether it may be somebody else's. True where one was made. */
export async function makeToken(given, { others = false } = {}) {
  const place = given.tenant ? h("p", {}, `Good in tenant ${given.tenant} only.`) : await choice();
  return open(given.kubeconfig ? "Kubeconfig with a new token" : "New token", (close) => {
    const said = h("div", {});
    const submit = async (event) => {
      event.preventDefault();
      const values = new FormData(event.target);
      const body = { ...given, days: Number(values.get("days")), description: values.get("description") };
      if (values.get("user")) Object.assign(body, { user: values.get("user"), other: true, groups: words(values.get("groups")) });
      if (!given.tenant) Object.assign(body, values.get("tenant") ? { tenant: values.get("tenant") } : { allTenants: true });
      try {
        const made = await tell("POST", "/tokens", body);
        replace(event.target.parentElement, shown(made, () => close(true)));
      } catch (error) {
        replace(said, failure(error));
      }
    };
    return h(
      "form",
      { onsubmit: submit },
      place,
      others ? [field("User (empty: yourself)", "user"), field("Groups, for another user", "groups", { placeholder: "dev, qa" })] : null,
      field("Days", "days", { type: "number", min: "1", max: "366", value: "30", required: true }),
      field("Description", "description", { maxlength: "200" }),
      said,
      h("footer", {}, button("Cancel", () => close()), h("button", { type: "submit", class: "button primary" }, "Make")),
    );
  });
}

/** Of the tenants that one may look into; all of them only for who chooses that. */
async function choice() {
  const { names, all } = await tenants().catch(() => ({ names: [], all: true }));
  const here = lastTenant();
  const option = (name) => h("option", { value: name, selected: name === here }, name);
  const everywhere = h("option", { value: "" }, "all tenants");
  const select = h("select", { name: "tenant" }, names.map(option), everywhere);
  const more = `These are the first ${names.length}; a tenant's own page makes tokens for it, too.`;
  return [
    h("label", { class: "field" }, "Good in tenant", select),
    all ? null : h("p", { class: "muted" }, more),
  ];
}

function words(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

function shown(made, close) {
  const name = `${made.tenant || "all"}.kubeconfig`;
  const secret = made.kubeconfig ?? made.token;
  const where = made.tenant ? `tenant ${made.tenant}` : "all tenants";
  const until = made.expires ? `until ${exact(Date.parse(made.expires))}` : "without an end";
  return [
    h("p", {}, `Token ${made.id} of ${made.user} is good in ${where}, ${until}. It is shown once:`),
    h("pre", { class: "panel", id: "secret" }, secret),
    h(
      "footer",
      {},
      copier(secret, made.kubeconfig ? "the kubeconfig" : "the token"),
      made.kubeconfig ? button("Download", () => save(name, made.kubeconfig, "application/yaml")) : null,
      button("Done", close, { class: "button primary" }),
    ),
  ];
}
