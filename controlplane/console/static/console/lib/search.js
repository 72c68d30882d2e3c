// Objects of all kinds by what is in them, of all that the reader may list (search.polyplane.dev).

import { api } from "./api.js";

const GROUP = "search.polyplane.dev";
const PATH = `/apis/${GROUP}/v1/objectsearches`;

/** Whether a tenant answers searches. resources: what it serves. */
export function isServed(resources) {
  return resources.some((one) => one.group === GROUP);
}

/** Items of an ObjectSearch in a tenant: {apiVersion, kind, resource, namespace, name, uid,
 *  matches: [{in, path, excerpt}]}. spec: beside the text. */
export async function objectsWith(tenant, text, spec = {}) {
  return (await ask(api(tenant), { text, ...spec })).items ?? [];
}

/** The same in all tenants, each item with its `tenant`. */
export async function everywhereWith(text, spec = {}) {
  return (await ask(api(), { text, tenants: ["*"], ...spec })).items ?? [];
}

async function ask(tenant, spec) {
  const review = { apiVersion: `${GROUP}/v1`, kind: "ObjectSearch", spec };
  return (await tenant.send("POST", PATH, review)).status;
}
