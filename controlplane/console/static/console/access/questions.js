// What is asked about rights, and how rules, subjects and resources read. Pure.

export const GROUP = "rbac.authorization.k8s.io";
export const VERBS = "get list watch create update patch delete deletecollection".split(" ");
export const SUBJECTS = ["User", "Group", "ServiceAccount"];

const kind = (name, resource, namespaced) => [
  name,
  { group: GROUP, version: "v1", resource, kind: name, namespaced },
];
/** The resources of RBAC by their kinds, as lib/discovery.js has resources. */
export const KINDS = Object.fromEntries([
  kind("Role", "roles", true),
  kind("ClusterRole", "clusterroles", false),
  kind("RoleBinding", "rolebindings", true),
  kind("ClusterRoleBinding", "clusterrolebindings", false),
]);

/** The attributes of a review. what: "deployments.apps/scale" or "/metrics". */
export function question({ verb, what, namespace = "", name = "" }) {
  if (what.startsWith("/")) return { nonResourceAttributes: { verb, path: what } };
  const [full, subresource = ""] = what.split("/");
  const dot = full.indexOf(".");
  const resource = dot < 0 ? full : full.slice(0, dot);
  const group = dot < 0 ? "" : full.slice(dot + 1);
  return { resourceAttributes: { verb, group, resource, subresource, namespace, name } };
}

/** The user and groups by which a subject {kind, name, namespace} asks, with further groups. Whoever
 *  has a name is in the groups that come with it. */
export function identity({ kind: of, name, namespace = "" }, groups = []) {
  if (of === "Group") return { groups: [name, ...groups] };
  if (of === "ServiceAccount") {
    const own = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
    const user = `system:serviceaccount:${namespace}:${name}`;
    return { user, groups: [...own, "system:authenticated", ...groups] };
  }
  const known = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  return { user: name, groups: [known, ...groups] };
}

/** A subject of a binding as it is asked about; a service account's namespace may be the binding's. */
export function subjectOf(subject, binding) {
  const { kind: of, name } = subject;
  const own = subject.namespace || binding?.namespace || "";
  if (of === "ServiceAccount") return { kind: of, name, namespace: own };
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(of === "User" ? name : "");
  if (account) return { kind: "ServiceAccount", name: account[2], namespace: account[1] };
  return { kind: of, name, namespace: "" };
}

export function named({ namespace, name }) {
  return namespace ? `${namespace}/${name}` : name;
}

/** {verbs, on}: "get, list" and "deployments.apps, pods named a, b". */
export function ruleText(rule) {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const full = apiGroups.flatMap((group) =>
    resources.map((resource) => (group ? `${resource}.${group}` : resource)),
  );
  const only = resourceNames.length ? ` named ${resourceNames.join(", ")}` : "";
  return { verbs: verbs.join(", "), on: [...full, ...nonResourceURLs].join(", ") + only };
}

/** A binding that gives a role to a subject, in a namespace or ("") the whole tenant. */
export function bindingOf({ role, subject, namespace, name }) {
  const account = subject.kind === "ServiceAccount";
  return {
    apiVersion: `${GROUP}/v1`,
    kind: namespace ? "RoleBinding" : "ClusterRoleBinding",
    metadata: { name, ...(namespace ? { namespace } : {}) },
    roleRef: { apiGroup: GROUP, kind: "ClusterRole", name: role },
    subjects: [
      account
        ? { kind: subject.kind, name: subject.name, namespace: subject.namespace }
        : { kind: subject.kind, apiGroup: GROUP, name: subject.name },
    ],
  };
}

/** A name for such a binding that says what it is. */
export function nameOf({ role, subject }) {
  return [role, subject.namespace, subject.name]
    .filter(Boolean)
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[.-]+|[.-]+$/g, "");
}
