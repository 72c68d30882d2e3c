/* Who else sets the replicas of what is to be scaled: a HorizontalPodAutoscaler does it again. */

import { api } from "../lib/api.js";
import { resourceOf } from "../lib/discovery.js";

const GROUP = "autoscaling";
const HPAS = "horizontalpodautoscalers";
const MOST_NAMESPACES = 8;
const MOST = 500;

/** Managers of an object's spec.replicas that are an autoscaler. */
export function scalingManagers({ metadata: { managedFields = [] } }) {
  const owns = ({ fieldsV1 }) => fieldsV1?.["f:spec"]?.["f:replicas"] !== undefined;
  const names = managedFields.filter(owns).map(({ manager }) => manager ?? "");
  return [...new Set(names.filter((name) => /autoscal/i.test(name)))];
}

/** Names ("namespace/name") of the HorizontalPodAutoscalers, of those that the reader may list, that
    scale one of the objects. */
export async function autoscalersOf(tenant, { group, kind }, objects) {
  const resource = await resourceOf(tenant, GROUP, HPAS);
  if (!resource) return [];
  const scaled = new Set(objects.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`));
  const namespaces = [...new Set(objects.map(({ metadata }) => metadata.namespace))];
  const listed = async (namespace) => {
    if (!(await api(tenant).can("list", GROUP, HPAS, { namespace })).allowed) return [];
    return (await api(tenant).list(resource, { namespace, limit: MOST })).items;
  };
  const found = await Promise.all(namespaces.slice(0, MOST_NAMESPACES).map(listed));
  const isMeant = ({ metadata, spec: { scaleTargetRef: of } }) => of.kind === kind
    && of.apiVersion?.split("/").slice(0, -1).join("") === group
    && scaled.has(`${metadata.namespace}/${of.name}`);
  return found.flat().filter(isMeant).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
}
