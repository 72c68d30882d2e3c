// One tenant: what it uses, its limits, tokens, and its end.

import { guarded, styled } from "../change/ui.js";
import { api } from "../lib/api.js";
import { confirm, notify } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { button, panel, table } from "../lib/plain.js";
import { address, go, pathOf } from "../lib/router.js";
import { forget, lastTenant } from "../lib/state.js";
import { makeToken, tokenList } from "../lib/tokens.js";
import { bytes, many, number } from "../lib/units.js";
import { changeQuotas } from "./tenant/quotas.js";
import { mayDo, share, TENANTS } from "./tenants.js";

const LOOK = 250; // milliseconds until the first look whether a change counts; each later one waits longer
const LONGEST = 2000;
const HOME = "default"; // keeps the Tenant objects, and can neither be suspended nor deleted

export default async function view(context) {
  const { root, params, signal } = context;
  const name = params.name;
  const [row, update, remove] = await Promise.all([
    fact(`/tenants/${encodeURIComponent(name)}`, {}, signal),
    mayDo("patch", name),
    mayDo("delete", name),
    styled(),
  ]);
  const tool = (label, may, onclick, look = "") => guarded("default", label, may, { onclick, class: look });
  const again = (changed) => shownOnce(changed, context);
  const tokens = tokenList({ tenant: name }, signal);
  const make = (more) => async () => (await makeToken({ tenant: name, ...more }, { others: row.administers })) && tokens.draw();
  const suspended = row.state === "suspended";
  replace(
    root,
    h(
      "div",
      { class: "toolbar" },
      h("h1", {}, name),
      h("span", { class: `badge ${row.state === "active" ? "good" : "warn"}` }, row.state),
      h("a", { class: "button", href: `${address("t", name)}/` }, "What it holds"),
      h("a", { class: "button", href: address("t", name, "access") }, "Access"),
      tool("Quotas", update, () => quotas(row, again)),
      tool("Owners, expiry, protection", update, () => go(`${pathOf("t", "default", "tenancy.polyplane.dev", "tenants", "-", name)}/edit`)),
      name === HOME ? null : [
        tool(suspended ? "Resume" : "Suspend", update, () => suspend(name, !suspended, again)),
        tool("Delete", remove, () => destroy(row), "danger"),
      ],
      button("Kubeconfig", make({ kubeconfig: true })),
    ),
    panel("Of whom, and from what", about(row)),
    panel(
      "Use",
      table(
        [
          ["", (use) => use[0]],
          ["Used", (use) => use[2](row[use[1]]), "numeric"],
          ["Limit", (use) => (row.limits[use[1]] ? use[2](row.limits[use[1]]) : "none"), "numeric"],
          ["", (use) => share(row[use[1]], row.limits[use[1]]), "numeric"],
        ],
        [["Objects", "objects", number], ["Bytes", "bytes", bytes], ["Bytes of history", "logBytes", bytes], ["Bytes written this hour", "hourBytes", bytes]],
      ),
    ),
    panel("Tokens", button("New token", make({})), tokens.root),
    panel(
      "Objects by resource",
      table(
        [
          ["Resource", (kind) => h("a", { href: address("t", name, kind.group || "core", kind.resource) }, kind.group ? `${kind.resource}.${kind.group}` : kind.resource)],
          ["Objects", (kind) => number(kind.objects), "numeric"],
          ["Bytes", (kind) => bytes(kind.bytes), "numeric"],
        ],
        row.kinds,
      ),
    ),
  );
}

/** Owners ("Kind:name") and templates, each a link to where one sees what comes of it. */
function about({ name, owners, templates }) {
  const subject = (owner) => {
    const [kind] = owner.split(":", 1);
    const who = owner.slice(kind.length + 1);
    const to = `${address("t", name, "access")}?${new URLSearchParams({ kind, subject: who })}`;
    return [h("a", { href: to }, who), ` (${kind})`];
  };
  const template = (one) => h("a", { href: address("t", HOME, "tenancy.polyplane.dev", "tenanttemplates", "-", one) }, one);
  const listed = (items, shown) => items.map((item, at) => [at ? ", " : "", shown(item)]);
  return h("dl", { class: "kv about" },
    h("dt", {}, "Owners"), h("dd", {}, owners.length ? listed(owners, subject) : "none"),
    h("dt", {}, "Templates"), h("dd", {}, templates.length ? listed(templates, template) : "none"));
}

function patch(name, spec) {
  return api().send("PATCH", `${TENANTS}/${encodeURIComponent(name)}`, { spec }, {
    contentType: "application/merge-patch+json",
    fieldManager: "console",
  });
}

async function suspend(name, suspended, again) {
  const text = suspended ? "All its requests are refused; nothing is lost." : "Its requests are served again.";
  if (!(await confirm({ title: `${suspended ? "Suspend" : "Resume"} ${name}`, text, action: suspended ? "Suspend" : "Resume" }))) return;
  try {
    again(await patch(name, { suspended }));
  } catch (error) {
    notify(error.message, { error: true });
  }
}

async function quotas({ name, limits }, again) {
  const { spec } = await api().get(`${TENANTS}/${encodeURIComponent(name)}`);
  let changed;
  const change = async (given) => (changed = await patch(name, { quotas: given }));
  if (await changeQuotas(name, { own: spec?.quotas, limits }, change)) again(changed);
}

/** Shows the tenant anew once it has been brought to what its changed object says. */
async function shownOnce({ metadata: { name, generation }, status }, context) {
  const { signal } = context;
  try {
    let observed = status?.observedGeneration ?? 0;
    for (let looks = 1; observed < generation && !signal.aborted; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(looks * LOOK, LONGEST)));
      const now = await api().get(`${TENANTS}/${encodeURIComponent(name)}`, { signal });
      observed = now.status?.observedGeneration ?? 0;
    }
    if (!signal.aborted) await view(context);
  } catch (error) {
    if (!signal.aborted) notify(error.message, { error: true });
  }
}

async function destroy(row) {
  const text = `${many(row.objects, "object")} (${bytes(row.bytes)}), ${bytes(row.logBytes)} of history and ${many(row.tokens, "token")} are lost. This cannot be undone.`;
  if (!(await confirm({ title: `Delete ${row.name}`, text, action: "Delete", typed: row.name, danger: true }))) return;
  try {
    await api().send("DELETE", `${TENANTS}/${encodeURIComponent(row.name)}`);
    notify(`Tenant ${row.name} is being deleted.`);
    if (lastTenant() === row.name) forget("tenant"); // the side is about one that there is
    go("/tenants");
  } catch (error) {
    notify(error.message, { error: true });
  }
}
