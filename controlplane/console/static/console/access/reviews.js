// Reviews about rights, by the reader's own.

import { api } from "../lib/api.js";

const OWN = "authorization.polyplane.dev";
const K8S = "authorization.k8s.io";

/** What RBAC grants: the status of a GrantReview. */
export async function grants(tenant, spec, signal) {
  return (await ask(tenant, OWN, "GrantReview", "grantreviews", spec, signal)).status;
}

/** By which review the reader may ask about others: {kind, allowed, reason}. */
export async function trial(tenant) {
  const explains = await api(tenant).can("create", OWN, "accessexplanations");
  if (explains.allowed) return { kind: "AccessExplanation", ...explains };
  const decides = await api(tenant).can("create", K8S, "subjectaccessreviews");
  return { kind: "SubjectAccessReview", ...decides };
}

/** Whether somebody may, and why: the status of the review of that kind. */
export async function decide(tenant, kind, spec, signal) {
  const group = kind === "AccessExplanation" ? OWN : K8S;
  return (await ask(tenant, group, kind, `${kind.toLowerCase()}s`, spec, signal)).status;
}

function ask(tenant, group, kind, resource, spec, signal) {
  const review = { apiVersion: `${group}/v1`, kind, spec };
  return api(tenant).send("POST", `/apis/${group}/v1/${resource}`, review, { signal });
}
