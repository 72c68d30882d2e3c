// Revisions, as the history's API has them.

import { fieldSelectorOf } from "../../lib/api.js";

/** Who wrote a revision: the user, or the one he acts as; "" where the user may not know. */
export function whoOf({ request }) {
  return request?.impersonatedUsername ?? request?.username ?? "";
}

/** Who asked for a deletion that somebody else has finished, often a controller: a Revision's
 *  `deletion`; null where that was one and the same, or where the user may not know. */
export function askedBefore(item) {
  const asked = item.deletion ?? {};
  return whoOf(asked) && whoOf(asked) !== whoOf(item) ? asked : null;
}

/** A page of the revisions of one object, the newest first: {items, next}. */
export async function revisionsOf(subject, { next = "", limit = 50, signal } = {}) {
  const { resource, name } = subject;
  const kind = resource.group ? `${resource.resource}.${resource.group}` : resource.resource;
  const query = new URLSearchParams({
    fieldSelector: fieldSelectorOf({ "object.resource": kind, "object.name": name }),
    limit: String(limit),
  });
  if (next) query.set("continue", next);
  const page = await subject.api.get(`${subject.revisions}?${query}`, { signal });
  return { items: page.items ?? [], next: page.metadata.continue ?? "" };
}

/** Why the user sees no history; "" for who may. */
export async function whyNoHistory(subject) {
  const { allowed, reason } = await subject.canRevisions("list");
  return allowed
    ? ""
    : reason || `you may not list ${subject.revisionsResource}.history.polyplane.dev`;
}
