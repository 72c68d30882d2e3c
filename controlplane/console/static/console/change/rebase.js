/* A three-way merge: what somebody else stored meanwhile, with one's own changes on top.

   Cases, for each field (base is what was opened):

     theirs \ mine      as base     changed          removed
     as base            base        mine             removed
     changed            theirs      same: one;       conflict
                                    else conflict
     removed            removed     conflict         removed

   Maps are merged by member, lists by their keys where the schema has them, anything else is one
   value. In a conflict the result has mine, until it is settled. Pure. */

import { clone, equal, has, isMap, put } from "./exact.js";
import { position, stepsOf } from "./changes.js";
import { set } from "./paths.js";
import { isAtomicMap } from "./schema.js";

const NOTHING = undefined;

/** {object, conflicts: [{path, base, theirs, mine}]}; undefined in a conflict is a field that is not
    there. */
export function rebase(schemas, node, base, theirs, mine) {
  const conflicts = [];
  const object = merge({ schemas, conflicts }, node, base, theirs, mine, []);
  return { object, conflicts };
}

/** The object with a conflict settled: "mine" or "theirs". */
export function settle(object, conflict, choice) {
  return set(object, conflict.path, conflict[choice]);
}

function merge(run, node, base, theirs, mine, path) {
  if (equal(theirs, mine) || equal(base, theirs)) return clone(mine);
  if (equal(base, mine)) return clone(theirs);
  if (isMap(theirs) && isMap(mine) && !isAtomicMap(node)) {
    return mergeMaps(run, node, isMap(base) ? base : {}, theirs, mine, path);
  }
  if (Array.isArray(theirs) && Array.isArray(mine)) {
    const lists = [Array.isArray(base) ? base : [], theirs, mine];
    const steps = lists.map((list) => stepsOf(run.schemas, node, list));
    if (steps.every(Boolean)) return mergeLists(run, node, lists, steps, path);
  }
  run.conflicts.push({ path, base, theirs, mine });
  return mine === NOTHING ? NOTHING : clone(mine);
}

function mergeMaps(run, node, base, theirs, mine, path) {
  const merged = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const [b, t, m] = [base, theirs, mine].map((o) => (has(o, name) ? o[name] : NOTHING));
    const value = merge(run, run.schemas.child(node, name), b, t, m, [...path, name]);
    if (value !== NOTHING) put(merged, name, value);
  }
  return merged;
}

/** In the order of mine, what is only theirs at the end. */
function mergeLists(run, node, lists, steps, path) {
  const merged = [];
  const all = [...steps[2], ...steps[1].filter((step) => position(steps[2], step) < 0)];
  for (const step of all) {
    const [b, t, m] = lists.map((list, which) => list[position(steps[which], step)]);
    const value = merge(run, run.schemas.child(node, 0), b, t, m, [...path, step]);
    if (value !== NOTHING) merged.push(value);
  }
  return merged;
}
