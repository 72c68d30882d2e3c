// What a tenant serves, as its discovery says.

import { api } from "./api.js";
import { remembered } from "./remembered.js";

const AGGREGATED = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(",");
const answers = remembered(20_000);

/** The resources of a tenant, each {group, version, versions, resource, kind, singular, shortNames,
 *  categories, namespaced, verbs, subresources}: in the version that the server prefers. */
export function resources(tenant) {
  return answers.of(tenant, () => ask(tenant));
}

async function ask(tenant) {
  const documents = await Promise.all(
    ["/api", "/apis"].map((path) => api(tenant).get(path, { accept: AGGREGATED })),
  );
  const found = new Map();
  for (const group of documents.flatMap((document) => document.items ?? [])) {
    for (const version of group.versions ?? []) {
      for (const resource of version.resources ?? []) add(found, group, version.version, resource);
    }
  }
  return [...found.values()];
}

function add(found, group, version, resource) {
  const name = group.metadata?.name ?? "";
  const key = `${resource.resource}.${name}`;
  const known = found.get(key);
  if (known) {
    known.versions.push(version);
    return;
  }
  found.set(key, {
    group: name,
    version,
    versions: [version],
    resource: resource.resource,
    kind: resource.responseKind?.kind ?? resource.resource,
    singular: resource.singularResource ?? "",
    shortNames: resource.shortNames ?? [],
    categories: resource.categories ?? [],
    namespaced: resource.scope === "Namespaced",
    verbs: resource.verbs ?? [],
    subresources: (resource.subresources ?? []).map((part) => part.subresource),
  });
}

/** The resource of a group ("" or "core": the core group), or null. */
export async function resourceOf(tenant, group, resource) {
  const wanted = group === "core" ? "" : group;
  const all = await resources(tenant);
  return all.find((one) => one.group === wanted && one.resource === resource) ?? null;
}

/** The resource of an apiVersion and kind, or null. */
export async function resourceOfKind(tenant, apiVersion, kind) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  const all = await resources(tenant);
  return all.find((one) => one.group === group && one.kind === kind) ?? null;
}

/** Resources that somebody may mean by a word, as kubectl understands it: short name, plural,
 *  singular or kind, in full ("deploy", "deployments", "Deployment", "deployments.apps"). */
export function meant(all, word) {
  const wanted = word.toLowerCase();
  return all.filter((one) =>
    [...one.shortNames, one.resource, one.singular, one.kind, `${one.resource}.${one.group}`].some(
      (name) => name.toLowerCase() === wanted,
    ),
  );
}

/** As it stands in addresses: "core" for the core group. */
export function groupPart(resource) {
  return resource.group || "core";
}
