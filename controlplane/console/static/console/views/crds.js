// The tenant's definitions: versions, what is still stored in old ones, conditions, objects, users.

import { api } from "../lib/api.js";
import { count } from "../lib/counts.js";
import { confirm, failure, notify, open } from "../lib/dialog.js";
import { groupPart, resourceOf, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { following } from "../lib/follow.js";
import { newest } from "../lib/newest.js";
import { button, table } from "../lib/plain.js";
import { address } from "../lib/router.js";
import { age } from "../lib/time.js";
import { many, number } from "../lib/units.js";
import { JSON_TYPE } from "../change/requests.js";
import { guarded, manager, right, styled } from "../change/ui.js";
import { send } from "../change/wire.js";

const DEFINITIONS = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  namespaced: false,
};
const MIGRATIONS = ["storagemigration.k8s.io", "storageversionmigrations"];
const MOST = 500; // objects whose managers are looked at
const GOOD = new Set(["NamesAccepted", "Established", "KubernetesAPIApprovalPolicyConformant"]);
const NEEDED = ["Established", "NamesAccepted"];
const MIGRATING = "StorageMigrating"; // which is neither good nor bad

export default async function crds({ tenant, root, signal }) {
  const rows = h("div", { class: "rows" });
  replace(root, h("div", { class: "toolbar" }, h("h1", {}, "Definitions")), rows);
  const asked = following(tenant, [DEFINITIONS], signal);
  const resource = await resourceOf(tenant, ...MIGRATIONS); // null: it is switched off
  const may = resource && (await right({ tenant, resource }, { verb: "create" }));
  await styled();
  const follow = await asked; // before it is asked what there is
  const begin = newest();
  const draw = async () => {
    const isNewer = begin();
    try {
      const [definitions, migrations] = await Promise.all([
        api(tenant).list(DEFINITIONS, { limit: MOST, signal }),
        migrationsOf(tenant, resource, signal),
      ]);
      const page = { tenant, resource, may, migrations, draw, signal };
      if (isNewer()) replace(rows, table(columns(page), definitions.items, "The tenant has no definitions."));
    } catch (error) {
      if (!signal.aborted && isNewer()) replace(rows, failure(error));
    }
  };
  await draw();
  await follow(draw);
}

/** As far as the reader may list them. */
async function migrationsOf(tenant, resource, signal) {
  if (!resource) return [];
  const may = await api(tenant).can("list", resource.group, resource.resource);
  return may.allowed ? (await api(tenant).list(resource, { limit: MOST, signal })).items : [];
}

const columns = (page) => [
  ["Definition", (crd) => definitionLink(page.tenant, crd)],
  ["Kind", (crd) => kindLink(page.tenant, crd)],
  ["Objects", (crd) => objects(page.tenant, crd), "numeric"],
  ["Versions", (crd) => crd.spec.versions.map(version), "name"],
  ["Stored", (crd) => stored(page, crd), "name"],
  ["Conditions", (crd) => conditions(crd), "wrap"],
  ["Written by", (crd) => [...managers(crd.metadata), ...owners(crd.metadata)].join(", "), "name"],
  ["Age", (crd) => age(crd.metadata.creationTimestamp)],
  ["", (crd) => users(page, crd), "name"],
];

function definitionLink(tenant, { metadata: { name } }) {
  const to = address("t", tenant, DEFINITIONS.group, DEFINITIONS.resource, "-", name);
  return h("a", { href: to }, name);
}

function kindLink(tenant, { spec }) {
  const to = address("t", tenant, spec.group, spec.names.plural);
  const scope = spec.scope === "Cluster" ? h("span", { class: "muted" }, " in no namespace") : null;
  return [h("a", { href: to }, spec.names.kind), scope];
}

function objects(tenant, crd) {
  const shown = h("span", {});
  found(tenant, crd).then((resource) => resource && count(tenant, resource)).then(
    (counted) => (shown.textContent = typeof counted === "number" ? number(counted) : "?"),
    () => (shown.textContent = "?"),
  );
  return shown;
}

/** The resource that the definition serves, null where it serves none yet. */
async function found(tenant, { spec }) {
  const all = await resources(tenant);
  return all.find((one) => one.group === spec.group && one.resource === spec.names.plural) ?? null;
}

// --- versions -------------------------------------------------------------------------------------
function version({ name, served, storage, deprecated, deprecationWarning }) {
  const said = [storage && "storage", !served && "not served", deprecated && "deprecated"];
  const look = deprecated || !served ? "warn" : storage ? "good" : "";
  const text = [name, ...said.filter(Boolean)].join(" · ");
  return [h("span", { class: `badge ${look}`, title: deprecationWarning ?? null }, text), " "];
}

/** The versions in which objects may still be stored, and the way out of the old ones. */
function stored(page, crd) {
  const current = crd.spec.versions.find(({ storage }) => storage)?.name;
  const versions = crd.status?.storedVersions ?? [];
  const left = versions.filter((name) => name !== current);
  const badges = versions.map((name) => [
    h("span", { class: `badge ${name === current ? "" : "warn"}` }, name), " ",
  ]);
  if (!left.length) return badges;
  const running = migrationOf(page.migrations, crd);
  if (running) return [badges, running];
  if (!page.resource) return [badges, h("code", { class: "muted" }, "manage.py migrate_storage")];
  const run = () => migrate(page, crd, left);
  return [badges, guarded(page.tenant, "Migrate", page.may, { onclick: run, class: "migrate" })];
}

/** What the newest migration of its objects says, as long as it is neither done nor failed. */
function migrationOf(migrations, { spec }) {
  const own = migrations.filter(({ spec: { resource } }) =>
    resource?.group === spec.group && resource?.resource === spec.names.plural);
  const is = (one, type) =>
    (one.status?.conditions ?? []).some((c) => c.type === type && c.status === "True");
  const failed = own.filter((one) => is(one, "Failed")).at(-1);
  if (own.some((one) => !is(one, "Succeeded") && !is(one, "Failed"))) {
    return h("span", { class: "badge" }, "is being migrated");
  }
  if (!failed) return null;
  const why = failed.status.conditions.find((c) => c.type === "Failed");
  return h("span", { class: "badge bad", title: why.message ?? "" }, "migration failed");
}

async function migrate({ tenant, resource, draw }, { spec, metadata }, left) {
  const text = `All objects of ${metadata.name} are written anew in the storage version; `
    + `${left.join(", ")} may be taken out of the definition afterwards.`;
  if (!(await confirm({ title: "Migrate stored objects", text, action: "Migrate" }))) return;
  const body = {
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
    metadata: { generateName: `${spec.names.plural}-` },
    spec: { resource: { group: spec.group, resource: spec.names.plural } },
  };
  const request = { method: "POST", type: JSON_TYPE, body };
  try {
    await send(tenant, resource, {}, request, { manager: manager() });
    await draw();
  } catch (error) {
    notify(error.message, { error: true });
  }
}

// --- conditions -----------------------------------------------------------------------------------
/** Those that are not good, in red; "" where all is well. */
function conditions({ status, metadata }) {
  const known = status?.conditions ?? [];
  const missing = NEEDED.filter((type) => !known.some((condition) => condition.type === type));
  const wrong = known.filter(
    ({ type, status: said }) => type !== MIGRATING && (said === "True") !== GOOD.has(type),
  );
  if (metadata.deletionTimestamp && !wrong.some(({ type }) => type === "Terminating")) {
    missing.push("being deleted");
  }
  if (!wrong.length && !missing.length) return h("span", { class: "good" }, "good");
  return [
    wrong.map(({ type, status: said, reason, message }) =>
      h("div", { class: "bad", title: message ?? "" }, `${type}=${said} ${reason ?? ""}: ${message ?? ""}`)),
    missing.map((type) => h("div", { class: "warn" }, `${type}?`)),
  ];
}

// --- users ----------------------------------------------------------------------------------------
function managers({ managedFields = [] }) {
  return [...new Set(managedFields.map((entry) => entry.manager))].sort();
}

function owners({ ownerReferences = [] }) {
  return ownerReferences.map(({ kind, name }) => `owned by ${kind} ${name}`);
}

function users(page, crd) {
  const what = `${crd.spec.names.plural}.${crd.spec.group}`;
  const query = new URLSearchParams({ verb: "create", what });
  return [
    button("Who writes them", () => whoWrites(page, crd)), " ",
    h("a", { class: "button", href: `${address("t", page.tenant, "access")}?${query}` }, "Who may"),
  ];
}

/** The managers of its objects, and their owners' kinds, of as many as are looked at. */
async function whoWrites({ tenant, signal }, crd) {
  const resource = await found(tenant, crd);
  await open(`Who writes ${crd.spec.names.plural}`, () => {
    const said = h("div", { role: "status" }, "…");
    const asked = resource
      ? api(tenant).list(resource, { metadata: true, limit: MOST, signal })
      : Promise.resolve({ items: [] });
    asked.then(
      (list) => replace(said, written(tenant, resource, list)),
      (error) => replace(said, failure(error)),
    );
    return said;
  });
}

function written(tenant, resource, { items, metadata }) {
  const tally = (names) => {
    const found = new Map();
    for (const name of names) found.set(name, (found.get(name) ?? 0) + 1);
    return [...found].sort((a, b) => b[1] - a[1]);
  };
  const by = tally(items.flatMap((item) => managers(item.metadata)));
  const owners = tally(
    items.flatMap((item) => (item.metadata.ownerReferences ?? []).map(({ kind }) => kind)),
  );
  const lines = (title) => [[title, (row) => row[0]], ["Objects", (row) => number(row[1]), "numeric"]];
  const to = resource && address("t", tenant, groupPart(resource), resource.resource);
  return [
    h("p", { class: "muted" }, `Of ${many(items.length, "object")}`,
      metadata?.continue ? ", the first of more" : "", ". ", to ? h("a", { href: to }, "All") : null),
    table(lines("Manager"), by, "Nobody has written any."),
    owners.length ? table(lines("Owned by"), owners) : null,
  ];
}
