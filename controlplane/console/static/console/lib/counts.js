// How many objects there are of each kind, by one question for all of them (search.polyplane.dev).

import { api } from "./api.js";
import { fullName, isListable } from "./kinds.js";
import { remembered } from "./remembered.js";

const GROUP = "search.polyplane.dev";
const PATH = `/apis/${GROUP}/v1/objectcounts`;
const REFUSED = 600_000; // for which nobody lists again what was refused: the audit log keeps refusals
const numbersOf = remembered(30_000);
const refused = new Map();

/** The number of objects of a resource, in one namespace or all; null where it may not be listed. */
export async function count(tenant, resource, namespace = "") {
  if (!isListable(resource)) return null;
  const place = `${tenant}\0${namespace}`;
  const numbers = await numbersOf.of(place, () => ask(tenant, namespace));
  if (numbers === null) return null;
  const name = fullName(resource);
  if (numbers.has(name)) return numbers.get(name);
  return numbersOf.of(`${place}\0${name}`, () => list(tenant, resource, namespace));
}

/** Something has been written: what is remembered may be wrong. */
export function forget() {
  numbersOf.forget();
}

/** Full names of resources with how many objects there are, null of those that may not be listed. */
async function ask(tenant, namespace) {
  const review = { apiVersion: `${GROUP}/v1`, kind: "ObjectCount", spec: { namespace } };
  try {
    const { status } = await api(tenant).send("POST", PATH, review);
    const { counts = [], hidden = [] } = status ?? {};
    return new Map([
      ...counts.map((one) => [fullName(one), one.count]),
      ...hidden.map((one) => [fullName(one), null]),
    ]);
  } catch (error) {
    return error.code === 404 ? new Map() : null; // where it is switched off, lists say it
  }
}

/** Of what the tenant's own server does not keep, and so does not count: a list says how many. */
async function list(tenant, resource, namespace) {
  const key = `${tenant}\0${resource.namespaced ? namespace : ""}\0${fullName(resource)}`;
  if (refused.get(key) > Date.now()) return null;
  try {
    const page = await api(tenant).list(resource, { namespace, metadata: true, limit: 1 });
    return (page.items?.length ?? 0) + (page.metadata.remainingItemCount ?? 0);
  } catch {
    refused.set(key, Date.now() + REFUSED);
    return null;
  }
}
