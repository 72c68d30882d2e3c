// What entries of the audit log are about.

import { h } from "./dom.js";
import { address } from "./router.js";

/** The object that an entry has made a version of, as a link to its page, which also deleted objects
 *  have; else as text. */
export function target({ tenant, group, resource, namespace, name, version, target: text }) {
  if (!version || !tenant || !resource || !name) return text;
  return h("a", { href: address("t", tenant, group || "core", resource, namespace || "-", name) }, text);
}

/** What was done: a create that restored an object says so. */
export function verbOf({ verb, restored }) {
  return restored || verb;
}
