/* The writes that buttons stand for, as requests: {verb, subresource, method, type, body}. The verb
   and the subresource are what the authorizer is asked about. Pure. */

import { has, put } from "./exact.js";

export const MERGE = "application/merge-patch+json";
export const APPLY = "application/apply-patch+yaml";
export const JSON_TYPE = "application/json";
export const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";
export const PROPAGATION = ["Background", "Foreground", "Orphan"];

const RESTARTABLE = new Set(["deployments", "statefulsets", "daemonsets"]);

/** A change that an object refuses by itself, before anybody is asked. */
export class NotPossible extends Error {}

/** Resources whose pods `kubectl rollout restart` replaces. */
export function canRestart({ group, resource }) {
  return group === "apps" && RESTARTABLE.has(resource);
}

export function scale(replicas) {
  return { verb: "patch", subresource: "scale", method: "PATCH", type: MERGE,
    body: { spec: { replicas } } };
}

/** As `kubectl rollout restart` does, which refuses a paused deployment too. Throws NotPossible. */
export function restart(object, now) {
  if (object.spec?.paused) throw new NotPossible("it is paused: resume it first");
  const annotations = { [RESTARTED_AT]: now.toISOString().replace(/\.\d+Z$/, "Z") };
  return { verb: "patch", method: "PATCH", type: MERGE,
    body: { spec: { template: { metadata: { annotations } } } } };
}

/** Labels or annotations ("labels", "annotations") as wanted: {name: value}, null takes one away.
    Throws NotPossible for a value that another one stands in the way of, unless overwrite. */
export function mark(object, field, wanted, { overwrite = false } = {}) {
  const there = object.metadata?.[field] ?? {};
  const standing = Object.keys(wanted).filter((name) => !overwrite && wanted[name] !== null
    && has(there, name) && there[name] !== wanted[name]);
  if (standing.length) {
    throw new NotPossible(`${standing.map((n) => `${n} is ${there[n]}`).join(", ")}: not overwritten`);
  }
  return { verb: "patch", method: "PATCH", type: MERGE, body: { metadata: { [field]: wanted } } };
}

/** What was typed: `name=value` sets, `name-` takes away, one a line. Throws
    NotPossible for what is neither. */
export function parseMarks(text) {
  const wanted = {};
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const [, name, value] = /^([^=\s]+)=(.*)$/.exec(line) ?? [];
    const [, gone] = /^([^=\s]+)-$/.exec(line) ?? [];
    if (name === undefined && gone === undefined) {
      throw new NotPossible(`neither name=value nor name-: ${line}`);
    }
    put(wanted, name ?? gone, name === undefined ? null : value);
  }
  return wanted;
}

/** Of this very object, not of one of its name that came after it. */
export function remove(object, { propagation = "Background", gracePeriodSeconds } = {}) {
  return { verb: "delete", method: "DELETE", type: JSON_TYPE, body: {
    apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: propagation,
    preconditions: { uid: object.metadata.uid },
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
  } };
}

/** What has to be typed before objects of a resource are deleted; "" where nothing has to. */
export function toType({ group, resource }, objects) {
  const heavy = (group === "" && resource === "namespaces")
    || (group === "apiextensions.k8s.io" && resource === "customresourcedefinitions");
  if (!heavy) return "";
  return objects.length === 1 ? objects[0].metadata.name : `delete ${objects.length}`;
}
