// What objects say about others: names in their specs, which are no owner references.

const CORE = "v1";
const RBAC = "rbac.authorization.k8s.io/v1";

/** The objects that an object names, each {why, apiVersion, kind, namespace, name}, once. */
export function references(object) {
  const { namespace = "" } = object.metadata ?? {};
  const found = new Map();
  const add = (why, apiVersion, kind, name, where = namespace) => {
    if (typeof name !== "string" || !name) return;
    const key = [apiVersion, kind, where, name].join("\0");
    if (!found.has(key)) found.set(key, { why, apiVersion, kind, namespace: where, name });
  };
  const spec = object.spec ?? {};
  const pods = object.kind === "Pod" ? spec : (spec.jobTemplate?.spec ?? spec).template?.spec;
  if (pods) ofPodSpec(pods, add);
  OF_KIND[object.kind]?.(object, add);
  return [...found.values()];
}

function ofPodSpec(spec, add) {
  add("runs as", CORE, "ServiceAccount", spec.serviceAccountName);
  add("runs on", CORE, "Node", spec.nodeName, "");
  add("priority", "scheduling.k8s.io/v1", "PriorityClass", spec.priorityClassName, "");
  add("runtime", "node.k8s.io/v1", "RuntimeClass", spec.runtimeClassName, "");
  for (const { name } of spec.imagePullSecrets ?? []) add("pulls with", CORE, "Secret", name);
  for (const volume of spec.volumes ?? []) {
    const sources = [volume, ...(volume.projected?.sources ?? [])];
    for (const { configMap, secret, persistentVolumeClaim } of sources) {
      add("mounts", CORE, "ConfigMap", configMap?.name);
      add("mounts", CORE, "Secret", secret?.secretName ?? secret?.name);
      add("mounts", CORE, "PersistentVolumeClaim", persistentVolumeClaim?.claimName);
    }
  }
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      add("environment", CORE, "ConfigMap", configMapRef?.name);
      add("environment", CORE, "Secret", secretRef?.name);
    }
    for (const { valueFrom } of container.env ?? []) {
      add("environment", CORE, "ConfigMap", valueFrom?.configMapKeyRef?.name);
      add("environment", CORE, "Secret", valueFrom?.secretKeyRef?.name);
    }
  }
}

const OF_KIND = {
  RoleBinding: ofBinding,
  ClusterRoleBinding: ofBinding,
  StatefulSet: ({ spec }, add) => add("governed by", CORE, "Service", spec?.serviceName),
  HorizontalPodAutoscaler: ({ spec }, add) => {
    const target = spec?.scaleTargetRef ?? {};
    add("scales", target.apiVersion ?? CORE, target.kind, target.name);
  },
  PersistentVolumeClaim: ({ spec }, add) => {
    add("bound to", CORE, "PersistentVolume", spec?.volumeName, "");
    add("class", "storage.k8s.io/v1", "StorageClass", spec?.storageClassName, "");
  },
  PersistentVolume: ({ spec }, add) => {
    const { name, namespace } = spec?.claimRef ?? {};
    add("claimed by", CORE, "PersistentVolumeClaim", name, namespace);
    add("class", "storage.k8s.io/v1", "StorageClass", spec?.storageClassName, "");
  },
  Ingress: ({ spec }, add) => {
    add("class", "networking.k8s.io/v1", "IngressClass", spec?.ingressClassName, "");
    add("default backend", CORE, "Service", spec?.defaultBackend?.service?.name);
    for (const { secretName } of spec?.tls ?? []) add("certificate", CORE, "Secret", secretName);
    for (const path of (spec?.rules ?? []).flatMap((rule) => rule.http?.paths ?? [])) {
      add(`routes ${path.path ?? "/"} to`, CORE, "Service", path.backend?.service?.name);
    }
  },
  EndpointSlice: ({ metadata, endpoints }, add) => {
    add("of", CORE, "Service", metadata.labels?.["kubernetes.io/service-name"]);
    for (const { targetRef } of endpoints ?? []) {
      if (targetRef) add("endpoint", CORE, targetRef.kind, targetRef.name, targetRef.namespace);
    }
  },
  ServiceAccount: ({ secrets, imagePullSecrets }, add) => {
    for (const { name } of secrets ?? []) add("token", CORE, "Secret", name);
    for (const { name } of imagePullSecrets ?? []) add("pulls with", CORE, "Secret", name);
  },
  Event: ({ involvedObject: about }, add) => {
    add("about", about?.apiVersion ?? CORE, about?.kind, about?.name, about?.namespace ?? "");
  },
  ValidatingAdmissionPolicyBinding: ({ apiVersion, spec }, add) =>
    add("binds", apiVersion, "ValidatingAdmissionPolicy", spec?.policyName, ""),
  MutatingAdmissionPolicyBinding: ({ apiVersion, spec }, add) =>
    add("binds", apiVersion, "MutatingAdmissionPolicy", spec?.policyName, ""),
  APIService: ({ spec }, add) =>
    add("served by", CORE, "Service", spec?.service?.name, spec?.service?.namespace ?? ""),
};

function ofBinding({ metadata, roleRef, subjects }, add) {
  const where = roleRef?.kind === "Role" ? (metadata.namespace ?? "") : "";
  add("grants", RBAC, roleRef?.kind, roleRef?.name, where);
  for (const { kind, name, namespace = "" } of subjects ?? []) {
    if (kind === "ServiceAccount") add("to", CORE, kind, name, namespace || metadata.namespace);
  }
}

/** Whether a (Cluster)RoleBinding grants the role `object`, or grants to the ServiceAccount. */
export function isBoundBy(object, binding) {
  const { name, namespace = "" } = object.metadata;
  const within = binding.metadata.namespace ?? "";
  if (object.kind === "ServiceAccount") {
    return (binding.subjects ?? []).some(
      (subject) =>
        subject.kind === "ServiceAccount" &&
        subject.name === name &&
        (subject.namespace || within) === namespace,
    );
  }
  const { kind, name: granted } = binding.roleRef ?? {};
  return kind === object.kind && granted === name && (kind !== "Role" || within === namespace);
}
