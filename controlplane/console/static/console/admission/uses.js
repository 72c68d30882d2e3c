// What policies and webhooks have been used for, joined to their configurations.

import { api } from "../lib/api.js";
import { resourceOf } from "../lib/discovery.js";

const GROUP = "admissionregistration.k8s.io";
const OWN = "policies.polyplane.dev";
const MOST = 500;
const POLICIES = { validating: "ValidatingAdmissionPolicy", mutating: "MutatingAdmissionPolicy" };
const WEBHOOKS = {
  validating: "validatingwebhookconfigurations",
  mutating: "mutatingwebhookconfigurations",
};

/** The resources that decide about requests, as far as the tenant serves them: {policies, bindings,
 *  webhooks}, each by type. */
export async function configurations(tenant) {
  const of = async (name) => resourceOf(tenant, GROUP, name);
  const found = { policies: {}, bindings: {}, webhooks: {} };
  for (const [type, kind] of Object.entries(POLICIES)) {
    const stem = kind.toLowerCase().replace(/y$/, "");
    found.policies[type] = await of(`${stem}ies`);
    found.bindings[type] = await of(`${stem}ybindings`);
    found.webhooks[type] = await of(WEBHOOKS[type]);
  }
  return found;
}

/** The status of an AdmissionUseReview. */
export async function uses(tenant, signal) {
  const body = { apiVersion: `${OWN}/v1`, kind: "AdmissionUseReview" };
  const path = `/apis/${OWN}/v1/admissionusereviews`;
  return (await api(tenant).send("POST", path, body, { signal })).status ?? {};
}

/** The objects of `configurations`, in the same shape. */
export async function objects(tenant, found, signal) {
  const loaded = {};
  for (const [what, byType] of Object.entries(found)) {
    loaded[what] = {};
    for (const [type, resource] of Object.entries(byType)) {
      loaded[what][type] = await items(tenant, resource, signal);
    }
  }
  return loaded;
}

/** Policies, each {type, resource, policy, bindings: [{binding, use}], own, bound}: own is the use of
 *  the policy where it cannot be evaluated, bound the resource of bindings. */
export function policies(found, loaded, counted) {
  const rows = [];
  for (const type of Object.keys(POLICIES)) {
    const resource = found.policies[type];
    const bound = loaded.bindings[type];
    for (const policy of loaded.policies[type]) {
      const { name } = policy.metadata;
      const bindings = bound
        .filter(({ spec }) => spec.policyName === name)
        .map((binding) => ({ binding, use: useOf(counted, type, name, binding.metadata.name) }));
      const own = useOf(counted, type, name, "");
      rows.push({ type, resource, policy, bindings, own, bound: found.bindings[type] });
    }
  }
  return rows;
}

function useOf({ policies: all = [] }, type, policy, binding) {
  return all.find(
    (use) => use.type === type && use.policy === policy && (use.binding ?? "") === binding,
  );
}

/** Webhooks, each {type, resource, configuration, webhook, use}. */
export function webhooks(found, loaded, counted) {
  const rows = [];
  for (const type of Object.keys(WEBHOOKS)) {
    const resource = found.webhooks[type];
    for (const configuration of loaded.webhooks[type]) {
      for (const webhook of configuration.webhooks ?? []) {
        const use = (counted.webhooks ?? []).find(
          (one) => one.type === type && one.name === webhook.name,
        );
        rows.push({ type, resource, configuration, webhook, use });
      }
    }
  }
  return rows;
}

/** What the reader may list; nothing of the rest. */
async function items(tenant, resource, signal) {
  if (!resource) return [];
  try {
    return (await api(tenant).list(resource, { limit: MOST, signal })).items;
  } catch (error) {
    if (error.code !== 403) throw error;
    return [];
  }
}
