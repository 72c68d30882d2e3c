// Objects of all kinds by what is in them, of all that the reader may list (search.polyplane.dev).

import { api } from "./api.js";

const GROUP = "search.polyplane.dev";
const PATH = `/apis/${GROUP}/v1/objectsearches`;

/** Whether a tenant answers searches. resources: what it serves. */
export function isServed(resources) {
  return resources.some((one) => one.group === GROUP);
}

/** What an ObjectSearch finds in a tenant: items, {apiVersion, kind, resource, namespace, name, uid,
 *  matches: [{in, path, excerpt}]}, and whether there are more. spec: beside the text. */
export async function objectsWith(tenant, text, spec = {}) {
  return ask(api(tenant), { text, ...spec });
}

/** The same in all tenants, each item with its `tenant`. */
export async function everywhereWith(text, spec = {}) {
  return ask(api(), { text, tenants: ["*"], ...spec });
}

async function ask(tenant, spec) {
  const review = { apiVersion: `${GROUP}/v1`, kind: "ObjectSearch", spec };
  const { items = [], continue: next } = (await tenant.send("POST", PATH, review)).status;
  return { items, more: Boolean(next) };
}

/** An excerpt in three: before what was looked for, that itself, and after it. As the server finds
 *  it: at the beginning of a word where there is such a place, in whatever case. */
export function splitAt(excerpt, text) {
  const [whole, wanted] = [excerpt.toLowerCase(), text.toLowerCase()];
  const places = [];
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1)) places.push(at);
  const begins = (at) => !/[\p{L}\p{N}]$/u.test(whole.slice(0, at));
  const at = places.find(begins) ?? places[0] ?? whole.length;
  const end = at + wanted.length;
  return [excerpt.slice(0, at), excerpt.slice(at, end), excerpt.slice(end)];
}
