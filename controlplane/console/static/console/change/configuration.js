/* How an edit is sent: as the smallest apply configuration that says it, or, where apply cannot say
   it, as an update of the whole object.

   The configuration has what differs from the live object, and what this manager had applied
   before, because apply takes away what a manager's new configuration leaves out. All else stays
   with its owners. What apply cannot do: remove a field that others own too or that nobody applied,
   and put the items of a list into another order. Pure. */

import { equal, has, put } from "./exact.js";
import { changes, stepsOf } from "./changes.js";
import { applied, extract, owners } from "./ownership.js";
import { get, set } from "./paths.js";

/** metadata that the server fills in, and that nobody edits. */
export const FILLED_IN = ["managedFields", "resourceVersion", "uid", "generation",
  "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/** What of an object is edited. status: whether it is edited here too (kinds without a status
    subresource). */
export function editable(object, { status = false } = {}) {
  const { metadata = {}, ...rest } = object;
  const kept = {};
  for (const name of Object.keys(metadata)) {
    if (!FILLED_IN.includes(name)) put(kept, name, metadata[name]);
  }
  const shown = { apiVersion: rest.apiVersion, kind: rest.kind, metadata: kept };
  for (const name of Object.keys(rest)) {
    if (name !== "status" || status) put(shown, name, rest[name]);
  }
  return shown;
}

/** {object, differences, beyond, foreign}: the configuration; what it changes; the differences that
    apply cannot say by itself ("removed" ones only perhaps: the dry run tells); whether this manager
    had applied in another version, whose fields cannot be read here. leave: paths that are left to
    their owners. */
export function configuration(schemas, node, live, mine, manager, leave = []) {
  const status = has(mine, "status");
  const before = schemas.keyed(node, editable(live, { status }));
  const after = schemas.keyed(node, mine);
  const differences = changes(schemas, node, before, after);
  const entry = applied(live, manager);
  let object = entry ? extract(entry.fieldsV1 ?? {}, after) ?? {} : {};
  for (const change of differences) {
    if (change.kind === "added" || change.kind === "changed") {
      object = set(object, change.path, change.after);
    }
  }
  for (const path of leave) object = set(object, path, undefined);
  return {
    object: addressed(object, live),
    differences,
    beyond: differences.filter((change) => change.kind === "removed" || change.kind === "moved"),
    foreign: Boolean(entry) && entry.apiVersion !== live.apiVersion,
  };
}

/** With the names of the object, and the state of it that was looked at: written over a later one,
    or over another object of its name, it is refused (409). */
function addressed(object, live) {
  const { apiVersion: _, kind: __, metadata = {}, ...rest } = object;
  const { name, namespace, uid, resourceVersion } = live.metadata;
  const address = { name, ...(namespace && { namespace }), uid, resourceVersion };
  return {
    apiVersion: live.apiVersion, kind: live.kind, metadata: { ...metadata, ...address }, ...rest,
  };
}

/** The whole object for an update: as edited, on the state that was looked at. */
export function whole(live, mine) {
  const { uid, resourceVersion } = live.metadata;
  return { ...mine, metadata: { ...mine.metadata, uid, resourceVersion } };
}

/** Of the removals and moves that were wanted, those that an answer of the server does not have. */
export function notDone(schemas, node, beyond, answer) {
  const stored = schemas.keyed(node, answer);
  return beyond.filter(({ path, kind, after }) => {
    const there = get(stored, path);
    if (kind === "removed") return there !== undefined;
    const steps = (list) => stepsOf(schemas, schemas.at(node, path), list ?? []);
    return !equal(steps(there), steps(after));
  });
}

/** What an update takes from others without being asked: [{path, managers}], of the differences
    whose fields somebody else has applied. */
export function taken(live, differences, manager) {
  return differences.map(({ path }) => ({
    path,
    managers: owners(live, path).filter((o) => o.operation === "Apply" && o.manager !== manager),
  })).filter(({ managers }) => managers.length);
}

/** Where the stored object would differ from what was asked for: defaults and admission. The same
    shape as `changes`; before is what was asked for. */
export function imposed(schemas, node, asked, answer) {
  const status = has(asked, "status");
  return changes(schemas, node, schemas.keyed(node, editable(asked, { status })),
    schemas.keyed(node, editable(answer, { status })));
}
