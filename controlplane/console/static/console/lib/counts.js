// How many objects there are of each kind, without listing them.

import { api } from "./api.js";
import { fullName, isListable } from "./kinds.js";

const REMEMBERED = 30_000; // milliseconds
const REFUSED = 600_000; // for which nobody asks again what was refused: the audit log keeps refusals
const AT_ONCE = 6;
const known = new Map();
const waiting = [];
let running = 0;

/** The number of objects of a resource, in one namespace or all; null where it may not be listed. */
export function count(tenant, resource, namespace = "") {
  if (!isListable(resource)) return Promise.resolve(null);
  const within = resource.namespaced ? namespace : "";
  const key = `${tenant}\0${within}\0${fullName(resource)}`;
  const found = known.get(key);
  if (found && found.until > Date.now()) return found.answer;
  const answer = turn(() => ask(tenant, resource, within));
  const entry = { until: Date.now() + REMEMBERED, answer };
  known.set(key, entry);
  answer.then((number) => number === null && (entry.until = Date.now() + REFUSED));
  return answer;
}

/** Something has been written: what is remembered may be wrong. */
export function forget() {
  known.clear();
}

async function ask(tenant, resource, namespace) {
  try {
    const list = await api(tenant).list(resource, { namespace, metadata: true, limit: 1 });
    return (list.items?.length ?? 0) + (list.metadata.remainingItemCount ?? 0);
  } catch {
    return null;
  }
}

async function turn(work) {
  if (running >= AT_ONCE) await new Promise((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}
