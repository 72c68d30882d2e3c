// How kinds stand in the tree: by what they are for; kinds of tenants by their group. No section is
// called as a page is (frame.js), or who looks for the page opens the section.

const SECTIONS = {
  Workloads: `pods deployments.apps statefulsets.apps daemonsets.apps replicasets.apps jobs.batch cronjobs.batch
    replicationcontrollers horizontalpodautoscalers.autoscaling poddisruptionbudgets.policy podtemplates
    controllerrevisions.apps workloads.scheduling.k8s.io`,
  Configuration: `configmaps secrets resourcequotas limitranges priorityclasses.scheduling.k8s.io
    leases.coordination.k8s.io leasecandidates.coordination.k8s.io runtimeclasses.node.k8s.io`,
  Network: `services endpoints endpointslices.discovery.k8s.io ingresses.networking.k8s.io
    ingressclasses.networking.k8s.io networkpolicies.networking.k8s.io ipaddresses.networking.k8s.io
    servicecidrs.networking.k8s.io`,
  Storage: `persistentvolumeclaims persistentvolumes storageclasses.storage.k8s.io`,
  "RBAC kinds": `serviceaccounts roles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io
    clusterroles.rbac.authorization.k8s.io clusterrolebindings.rbac.authorization.k8s.io
    certificatesigningrequests.certificates.k8s.io clustertrustbundles.certificates.k8s.io`,
  "Admission kinds": `validatingadmissionpolicies.admissionregistration.k8s.io
    validatingadmissionpolicybindings.admissionregistration.k8s.io
    mutatingadmissionpolicies.admissionregistration.k8s.io
    mutatingadmissionpolicybindings.admissionregistration.k8s.io
    validatingwebhookconfigurations.admissionregistration.k8s.io
    mutatingwebhookconfigurations.admissionregistration.k8s.io`,
  Cluster: `namespaces nodes events events.events.k8s.io customresourcedefinitions.apiextensions.k8s.io
    apiservices.apiregistration.k8s.io flowschemas.flowcontrol.apiserver.k8s.io
    prioritylevelconfigurations.flowcontrol.apiserver.k8s.io`,
};
const BY_GROUP = { "storage.k8s.io": "Storage", "resource.k8s.io": "Devices" };
/** The same Events once more, and what is asked of an object rather than listed. */
const NOT_HERE = /^events\.events\.k8s\.io$|\.history\.polyplane\.dev$/;
/** Defined as a kind of objects, so discovery has it with every verb; it is created only, as a
 *  question, and answers 405 to a list. */
const ASKED = "selftenantreviews.tenancy.polyplane.dev";
const PLACES = new Map();
for (const [section, names] of Object.entries(SECTIONS)) {
  names.split(/\s+/).forEach((name, at) => PLACES.set(name, [section, at]));
}

/** The resource's name in full: "deployments.apps", "pods". */
export function fullName(resource) {
  return resource.group ? `${resource.resource}.${resource.group}` : resource.resource;
}

/** Whether there are objects of it to list and count. */
export function isListable(resource) {
  return resource.verbs.includes("list") && fullName(resource) !== ASKED;
}

/** Sections in order, each [title, resources that can be listed]. */
export function sections(resources) {
  const found = new Map([...Object.keys(SECTIONS), "Devices"].map((title) => [title, []]));
  for (const resource of resources) {
    if (!isListable(resource) || NOT_HERE.test(fullName(resource))) continue;
    const [place] = PLACES.get(fullName(resource)) ?? [];
    const title = place ?? BY_GROUP[resource.group] ?? (resource.group || "Cluster");
    if (!found.has(title)) found.set(title, []);
    found.get(title).push(resource);
  }
  for (const list of found.values())
    list.sort((a, b) => rank(a) - rank(b) || compare(a.kind, b.kind));
  return [...found].filter(([, list]) => list.length);
}

function rank(resource) {
  return PLACES.get(fullName(resource))?.[1] ?? 1000;
}

const compare = new Intl.Collator("en").compare;
