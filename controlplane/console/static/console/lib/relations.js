// Who names an object as its owner, of all that the user may list.

const PATH = "/apis/relations.polyplane.dev/v1/dependentreviews";

/** {dependents: [{group, version, resource, kind, namespace, name, uid, controller,
 *  blockOwnerDeletion, deletionTimestamp, finalizers}], incomplete}. */
export async function dependentsOf(api, uid, signal) {
  const review = {
    apiVersion: "relations.polyplane.dev/v1",
    kind: "DependentReview",
    spec: { uid },
  };
  const { status } = await api.send("POST", PATH, review, { signal });
  return { dependents: status.dependents ?? [], incomplete: status.incomplete === true };
}
