/* What differs between two objects, field by field as the server tells fields apart (structured
   merge: maps by member, lists by their keys where the schema says so, everything else as one
   value). Pure. */

import { equal, has, isMap } from "./exact.js";
import { isAtomicMap, listType } from "./schema.js";

/** Every difference, as {path, before, after, kind}: kind is "added", "removed", "changed" or
    "moved" (a list whose items stand in another order). before and after are undefined where there
    is nothing. */
export function changes(schemas, node, before, after, path = []) {
  if (equal(before, after)) return [];
  if (isMap(before) && isMap(after) && !isAtomicMap(node)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => one(schemas, schemas.child(node, name), [...path, name],
      has(before, name), before[name], has(after, name), after[name]));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const steps = [stepsOf(schemas, node, before), stepsOf(schemas, node, after)];
    if (steps.every(Boolean)) return ofLists(schemas, node, before, after, path, steps);
  }
  return [{ path, before, after, kind: "changed" }];
}

/** The steps to the items of a list that is a map or a set; undefined for one that is a single
    value, or in which two items are called the same. */
export function stepsOf(schemas, node, list) {
  const type = listType(node);
  if (type === "atomic") return undefined;
  const steps = list.map((item) => (type === "set" ? { value: item } : schemas.key(node, item)));
  const unique = steps.every((s, at) => s && steps.findIndex((t) => equal(t, s)) === at);
  return unique ? steps : undefined;
}

/** Where a step stands among those of a list; -1 where it does not. */
export function position(steps, step) {
  return steps.findIndex((s) => equal(s, step));
}

function one(schemas, node, path, was, before, is, after) {
  if (was && is) return changes(schemas, node, before, after, path);
  const kind = is ? "added" : "removed";
  return [{ path, before: was ? before : undefined, after: is ? after : undefined, kind }];
}

function ofLists(schemas, node, before, after, path, [old, fresh]) {
  const inner = schemas.child(node, 0);
  const all = [...fresh, ...old.filter((step) => position(fresh, step) < 0)];
  const kept = fresh.filter((step) => position(old, step) >= 0);
  const order = old.filter((step) => position(fresh, step) >= 0);
  const found = all.flatMap((step) => {
    const [from, to] = [position(old, step), position(fresh, step)];
    return one(schemas, inner, [...path, step], from >= 0, before[from], to >= 0, after[to]);
  });
  if (!equal(order, kept)) found.push({ path, before, after, kind: "moved" });
  return found;
}
