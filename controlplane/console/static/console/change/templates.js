/* What a new object of a kind begins with. Pure. */

import { has } from "./exact.js";

const LABELS = { app: "example" };
const IMAGE = "registry.k8s.io/pause:3.10";
const POD = { containers: [{ name: "main", image: IMAGE }] };
const PODS = { metadata: { labels: LABELS }, spec: POD };
const SELECTOR = { matchLabels: LABELS };
const JOB = { template: { spec: { ...POD, restartPolicy: "Never" } } };
const RULES = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }];
const SUBJECTS = [{ kind: "User", name: "somebody", apiGroup: "rbac.authorization.k8s.io" }];

function binding(kind) {
  return { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: "view" }, subjects: SUBJECTS };
}

const DEFINITION = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { kind: "Widget", plural: "widgets", singular: "widget" },
    scope: "Namespaced",
    versions: [{
      name: "v1", served: true, storage: true,
      schema: { openAPIV3Schema: { type: "object", properties: {
        spec: { type: "object", properties: { size: { type: "integer" } } } } } },
    }],
  },
};

const POLICY = {
  spec: {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"], resources: ["configmaps"] }] },
    validations: [{ expression: "has(object.metadata.labels)", message: "a label is needed" }],
  },
};

/** By resource and group: everything but apiVersion, kind and the name. */
export const TEMPLATES = {
  "configmaps.": { data: { key: "value" } },
  "secrets.": { type: "Opaque", stringData: { key: "value" } },
  "namespaces.": {},
  "serviceaccounts.": {},
  "services.": { spec: { selector: LABELS, ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }] } },
  "pods.": { metadata: { labels: LABELS }, spec: POD },
  "persistentvolumeclaims.": { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  "resourcequotas.": { spec: { hard: { "count/configmaps": "100" } } },
  "limitranges.": { spec: { limits: [{ type: "Container", default: { memory: "256Mi" }, defaultRequest: { memory: "128Mi" } }] } },
  "deployments.apps": { spec: { replicas: 1, selector: SELECTOR, template: PODS } },
  "statefulsets.apps": { spec: { replicas: 1, serviceName: "example", selector: SELECTOR, template: PODS } },
  "daemonsets.apps": { spec: { selector: SELECTOR, template: PODS } },
  "replicasets.apps": { spec: { replicas: 1, selector: SELECTOR, template: PODS } },
  "jobs.batch": { spec: JOB },
  "cronjobs.batch": { spec: { schedule: "0 4 * * *", jobTemplate: { spec: JOB } } },
  "ingresses.networking.k8s.io": { spec: { rules: [{ host: "example.com", http: { paths: [{ path: "/",
    pathType: "Prefix", backend: { service: { name: "example", port: { number: 80 } } } }] } }] } },
  "networkpolicies.networking.k8s.io": { spec: { podSelector: SELECTOR, policyTypes: ["Ingress"] } },
  "roles.rbac.authorization.k8s.io": { rules: RULES },
  "clusterroles.rbac.authorization.k8s.io": { rules: RULES },
  "rolebindings.rbac.authorization.k8s.io": binding("ClusterRole"),
  "clusterrolebindings.rbac.authorization.k8s.io": binding("ClusterRole"),
  "horizontalpodautoscalers.autoscaling": { spec: { minReplicas: 1, maxReplicas: 3,
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "example" } } },
  "poddisruptionbudgets.policy": { spec: { minAvailable: 1, selector: SELECTOR } },
  "priorityclasses.scheduling.k8s.io": { value: 1000, description: "What it is for." },
  "storageclasses.storage.k8s.io": { provisioner: "example.com/disk" },
  "customresourcedefinitions.apiextensions.k8s.io": DEFINITION,
  "validatingadmissionpolicies.admissionregistration.k8s.io": POLICY,
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": { spec: { policyName: "example", validationActions: ["Deny"] } },
};

/** Whether the resource has a template of its own, or gets one from its schema. */
export function isKnown({ group, resource }) {
  return has(TEMPLATES, `${resource}.${group}`);
}

/** The least object of a resource that the server takes, or, for kinds without a template, the
    fields that the schema requires. resource: {group, version, resource, kind, namespaced}. */
export function template(resource, namespace, schemas, node) {
  const known = TEMPLATES[`${resource.resource}.${resource.group}`];
  const { apiVersion: _, kind: __, metadata = {}, ...rest } = structuredClone(
    isKnown(resource) ? known : schemas.skeleton(node));
  const spec = node && !isKnown(resource) && !("spec" in rest) && schemas.child(node, "spec");
  return {
    apiVersion: resource.group ? `${resource.group}/${resource.version}` : resource.version,
    kind: resource.kind,
    metadata: { name: "example", ...(resource.namespaced && { namespace: namespace || "default" }), ...metadata },
    ...rest,
    ...(spec && { spec: schemas.skeleton(spec) }),
  };
}
