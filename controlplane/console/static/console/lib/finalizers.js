// Who takes a finalizer away. What Kubernetes' own are is told by its documentation ("Finalizers",
// "Storage Object in Use Protection", "Garbage Collection"); of others, who has written them and
// whose domain they bear.

const KNOWN = {
  foregroundDeletion: [
    "the garbage collector",
    "dependents that block their owner are deleted first; it goes with the last of them",
  ],
  orphan: ["the garbage collector", "dependents lose their reference to this object first"],
  kubernetes: ["the namespace controller", "everything in the namespace is deleted first"],
  "kubernetes.io/pvc-protection": [
    "kube-controller-manager (pvc-protection-controller)",
    "it goes when no pod uses the claim any more",
  ],
  "kubernetes.io/pv-protection": [
    "kube-controller-manager (pv-protection-controller)",
    "it goes when the volume is bound to no claim any more",
  ],
  "customresourcecleanup.apiextensions.k8s.io": [
    "the controller of CustomResourceDefinitions",
    "all objects of the kind are deleted first",
  ],
  "service.kubernetes.io/load-balancer-cleanup": [
    "cloud-controller-manager (service controller)",
    "the load balancer of the cloud is deleted first",
  ],
  "batch.kubernetes.io/job-tracking": [
    "kube-controller-manager (job controller)",
    "the pod is counted in its Job's status first",
  ],
  "external-attacher": ["the CSI external-attacher", "the volume is detached first"],
};

/** The finalizers that hold an object, each {name, owner, why, manager, path}: manager: who wrote
 *  it, as managedFields say; path: of the list that it is in. */
export function finalizersOf(object) {
  const own = (object.metadata?.finalizers ?? []).map((name) =>
    explained(object, name, ["metadata", "finalizers"]),
  );
  if (object.kind !== "Namespace" || object.apiVersion !== "v1") return own;
  const spaces = object.spec?.finalizers ?? [];
  return [...own, ...spaces.map((name) => explained(object, name, ["spec", "finalizers"]))];
}

function explained(object, name, path) {
  const manager = writerOf(object, name, path);
  const [owner, why] = KNOWN[name] ?? [guessed(name), "its controller knows what for"];
  return { name, owner, why, manager, path };
}

/** By its domain a controller's: "example.com/empty-the-bucket". */
function guessed(name) {
  const domain = name.includes("/") ? name.slice(0, name.indexOf("/")) : "";
  return domain ? `a controller of ${domain}` : "a controller that names itself nowhere";
}

/** The manager that owns the item of a set, "" where nobody does. */
export function writerOf(object, value, path) {
  const item = `v:${JSON.stringify(value)}`;
  const owner = (object.metadata?.managedFields ?? []).find((entry) => {
    const list = path.reduce((fields, name) => fields?.[`f:${name}`], entry.fieldsV1);
    return list && item in list;
  });
  return owner?.manager ?? "";
}

/** What kubectl would be told to take one finalizer away, if the list is still this one. */
export function removal(object, { name, path }) {
  const list = path.reduce((value, member) => value?.[member], object) ?? [];
  const at = list.indexOf(name);
  const pointer = `/${path.join("/")}/${at}`;
  return [
    { op: "test", path: "/metadata/uid", value: object.metadata.uid },
    { op: "test", path: pointer, value: name },
    { op: "remove", path: pointer },
  ];
}
