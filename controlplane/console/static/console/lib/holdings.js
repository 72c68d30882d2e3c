// What a namespace holds: how many objects there are of each kind that is in it.

import { count } from "./counts.js";
import { resources } from "./discovery.js";
import { sections } from "./kinds.js";

/** {kinds: [{resource, count}], hidden}: kinds of which there are some, in the order of the side;
 *  hidden: whether there are kinds that the reader may not list. */
export async function holdings(tenant, namespace) {
  const served = sections(await resources(tenant)).flatMap(([, kinds]) => kinds);
  const within = served.filter(({ namespaced }) => namespaced);
  const counts = await Promise.all(within.map((resource) => count(tenant, resource, namespace)));
  return {
    kinds: within.map((resource, at) => ({ resource, count: counts[at] })).filter((one) => one.count),
    hidden: counts.includes(null),
  };
}
