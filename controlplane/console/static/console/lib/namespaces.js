// The namespaces of a tenant that the reader may look into.

import { api } from "./api.js";
import { fact } from "./facts.js";
import { remembered } from "./remembered.js";

const NAMESPACES = { group: "", version: "v1", resource: "namespaces", namespaced: false };
const MOST = 500;
const answers = remembered(10_000);

/** {names, all}: all: whether these are all that there are. Who may not list them is told those in
 *  which a binding names them. */
export function namespaces(tenant) {
  return answers.of(tenant, () => ask(tenant));
}

async function ask(tenant) {
  if ((await api(tenant).can("list", "", "namespaces")).allowed) {
    const list = await api(tenant).list(NAMESPACES, { metadata: true, limit: MOST });
    const names = list.items.map((item) => item.metadata.name);
    return { names, all: !list.metadata.continue };
  }
  const { namespaces: names } = await fact(`/tenants/${encodeURIComponent(tenant)}/namespaces`);
  return { names, all: false };
}
