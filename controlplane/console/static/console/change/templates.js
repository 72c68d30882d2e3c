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

const MATCHED = { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"], resources: ["configmaps"] }] };

const POLICY = {
  spec: {
    failurePolicy: "Fail",
    matchConstraints: MATCHED,
    validations: [{ expression: "has(object.metadata.labels)", message: "a label is needed" }],
  },
};

const MUTATION = {
  spec: {
    matchConstraints: MATCHED,
    reinvocationPolicy: "Never",
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: {
      expression: 'Object{metadata: Object.metadata{labels: {"example": "yes"}}}' } }],
  },
};

const FLOW = {
  spec: {
    matchingPrecedence: 1000,
    priorityLevelConfiguration: { name: "workload-low" },
    distinguisherMethod: { type: "ByUser" },
    rules: [{ subjects: [{ kind: "User", user: { name: "somebody" } }], resourceRules: [{ verbs: ["list"],
      apiGroups: [""], resources: ["configmaps"], namespaces: ["*"] }] }],
  },
};

const LEVEL = {
  spec: { type: "Limited", limited: { nominalConcurrencyShares: 10, limitResponse: { type: "Queue",
    queuing: { queues: 16, handSize: 4, queueLengthLimit: 50 } } } },
};

const SLICE = {
  spec: {
    driver: "example.com", nodeName: "example", pool: { name: "example", generation: 1, resourceSliceCount: 1 },
    devices: [{ name: "device-0" }],
  },
};

/** For CN=example, by a key that nobody has. */
const REQUEST = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITE1IUUNBUUF3RWpFUU1BNEdBMVVFQXd3SFpYaG"
  + "hiWEJzWlRCWk1CTUdCeXFHU000OUFnRUdDQ3FHU000OQpBd0VIQTBJQUJDUXVBWjZDL1NMbWZXMzUwN2NqNGtqU1lJ"
  + "RHQ3ZHYralJTVklqSldoQ1BKY0YwYWUvT2VhSHJZCjVoQUtlczJOajQvak9wMGhEYTN1dU9ZclNSSnBjL21nQURBS0"
  + "JnZ3Foa2pPUFFRREFnTkhBREJFQWlCS2Y4azMKL3dwUk5yUmtkdHJCNGk1Y0pFcHloNUtSVXdtZ1hZV280ZUhFTFFJ"
  + "Z1h4bFdTNlp3R1IrbDNVRWs5SFNIK1pmMgo4MUFIMm1rOENIV3dMY0hSOTFZPQotLS0tLUVORCBDRVJUSUZJQ0FURS"
  + "BSRVFVRVNULS0tLS0K";

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
  "persistentvolumes.": { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"],
    csi: { driver: "example.com", volumeHandle: "example" } } },
  "podtemplates.": { template: PODS },
  "replicationcontrollers.": { spec: { replicas: 1, selector: LABELS, template: PODS } },
  "apiservices.apiregistration.k8s.io": { metadata: { name: "v1.api.example.com" }, spec: { group: "api.example.com",
    version: "v1", groupPriorityMinimum: 1000, versionPriority: 15, service: { namespace: "default", name: "example" } } },
  "controllerrevisions.apps": { revision: 1, data: {} },
  "deployments.apps": { spec: { replicas: 1, selector: SELECTOR, template: PODS } },
  "statefulsets.apps": { spec: { replicas: 1, serviceName: "example", selector: SELECTOR, template: PODS } },
  "daemonsets.apps": { spec: { selector: SELECTOR, template: PODS } },
  "replicasets.apps": { spec: { replicas: 1, selector: SELECTOR, template: PODS } },
  "jobs.batch": { spec: JOB },
  "cronjobs.batch": { spec: { schedule: "0 4 * * *", jobTemplate: { spec: JOB } } },
  "ingresses.networking.k8s.io": { spec: { rules: [{ host: "example.com", http: { paths: [{ path: "/",
    pathType: "Prefix", backend: { service: { name: "example", port: { number: 80 } } } }] } }] } },
  "ingressclasses.networking.k8s.io": { spec: { controller: "example.com/ingress" } },
  "ipaddresses.networking.k8s.io": { metadata: { name: "10.96.0.200" }, spec: { parentRef: { resource: "services",
    namespace: "default", name: "example" } } },
  "servicecidrs.networking.k8s.io": { spec: { cidrs: ["10.97.0.0/24"] } },
  "endpointslices.discovery.k8s.io": { metadata: { labels: { "kubernetes.io/service-name": "example" } },
    addressType: "IPv4", ports: [{ name: "http", port: 8080, protocol: "TCP" }], endpoints: [{ addresses: ["10.0.0.1"] }] },
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
  "volumeattachments.storage.k8s.io": { spec: { attacher: "example.com", nodeName: "example",
    source: { persistentVolumeName: "example" } } },
  "volumeattributesclasses.storage.k8s.io": { driverName: "example.com", parameters: { tier: "fast" } },
  "csistoragecapacities.storage.k8s.io": { storageClassName: "example", capacity: "1Gi", nodeTopology: SELECTOR },
  "runtimeclasses.node.k8s.io": { handler: "example" },
  "certificatesigningrequests.certificates.k8s.io": { spec: { request: REQUEST,
    signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] } },
  "flowschemas.flowcontrol.apiserver.k8s.io": FLOW,
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": LEVEL,
  "resourceslices.resource.k8s.io": SLICE,
  "fieldindexes.search.polyplane.dev": { spec: { resource: "pods", path: "spec.nodeName" } },
  "customresourcedefinitions.apiextensions.k8s.io": DEFINITION,
  "validatingadmissionpolicies.admissionregistration.k8s.io": POLICY,
  "mutatingadmissionpolicies.admissionregistration.k8s.io": MUTATION,
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": { spec: { policyName: "example" } },
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": { spec: { policyName: "example", validationActions: ["Deny"] } },
};

/** Whether its objects are reports of what programs have seen, not something that anybody writes. */
export function isReport({ group, resource }) {
  return resource === "events" && (group === "" || group === "events.k8s.io");
}

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
