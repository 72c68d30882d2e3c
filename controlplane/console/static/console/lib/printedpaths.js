// Columns of built-in kinds that print one member, by which the server can sort: JSONPaths, as
// additionalPrinterColumns have them; "-" where the column shows an age. Not here: columns that are
// put together of several members, and numbers that are shown as 0 where the member is absent, since
// sortBy puts what has no value last.

/** Full name of a resource -> column -> sortBy. What follows is JSON. */
export const PRINTED_PATHS = {
  "certificatesigningrequests.certificates.k8s.io": {
    "SignerName": ".spec.signerName",
    "Requestor": ".spec.username"
  },
  "controllerrevisions.apps": { "Revision": ".revision" },
  "cronjobs.batch": {
    "Schedule": ".spec.schedule",
    "Timezone": ".spec.timeZone",
    "Suspend": ".spec.suspend",
    "Last Schedule": "-.status.lastScheduleTime"
  },
  "daemonsets.apps": {
    "Desired": ".status.desiredNumberScheduled",
    "Current": ".status.currentNumberScheduled",
    "Ready": ".status.numberReady"
  },
  "endpointslices.discovery.k8s.io": { "AddressType": ".addressType" },
  "events": { "Type": ".type", "Reason": ".reason", "Message": ".message" },
  "events.events.k8s.io": { "Type": ".type", "Reason": ".reason", "Message": ".note" },
  "flowschemas.flowcontrol.apiserver.k8s.io": {
    "PriorityLevel": ".spec.priorityLevelConfiguration.name",
    "MatchingPrecedence": ".spec.matchingPrecedence"
  },
  "horizontalpodautoscalers.autoscaling": {
    "MinPods": ".spec.minReplicas",
    "MaxPods": ".spec.maxReplicas"
  },
  "ingressclasses.networking.k8s.io": { "Controller": ".spec.controller" },
  "ingresses.networking.k8s.io": { "Class": ".spec.ingressClassName" },
  "leases.coordination.k8s.io": { "Holder": ".spec.holderIdentity" },
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io": {
    "PolicyName": ".spec.policyName"
  },
  "namespaces": { "Status": ".status.phase" },
  "nodes": {
    "Version": ".status.nodeInfo.kubeletVersion",
    "OS-Image": ".status.nodeInfo.osImage",
    "Container-Runtime": ".status.nodeInfo.containerRuntimeVersion"
  },
  "persistentvolumeclaims": {
    "Volume": ".spec.volumeName",
    "StorageClass": ".spec.storageClassName",
    "VolumeMode": ".spec.volumeMode"
  },
  "persistentvolumes": {
    "Reclaim Policy": ".spec.persistentVolumeReclaimPolicy",
    "StorageClass": ".spec.storageClassName",
    "Reason": ".status.reason",
    "VolumeMode": ".spec.volumeMode"
  },
  "poddisruptionbudgets.policy": { "Allowed Disruptions": ".status.disruptionsAllowed" },
  "pods": {
    "IP": ".status.podIP",
    "Node": ".spec.nodeName",
    "Nominated Node": ".status.nominatedNodeName"
  },
  "priorityclasses.scheduling.k8s.io": {
    "Value": ".value",
    "PreemptionPolicy": ".preemptionPolicy"
  },
  "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": { "Type": ".spec.type" },
  "replicasets.apps": { "Desired": ".spec.replicas", "Current": ".status.replicas" },
  "replicationcontrollers": { "Desired": ".spec.replicas", "Current": ".status.replicas" },
  "resourceslices.resource.k8s.io": {
    "Node": ".spec.nodeName",
    "Driver": ".spec.driver",
    "Pool": ".spec.pool.name"
  },
  "runtimeclasses.node.k8s.io": { "Handler": ".handler" },
  "secrets": { "Type": ".type" },
  "services": { "Type": ".spec.type", "Cluster-IP": ".spec.clusterIP" },
  "storageclasses.storage.k8s.io": {
    "Provisioner": ".provisioner",
    "ReclaimPolicy": ".reclaimPolicy",
    "VolumeBindingMode": ".volumeBindingMode"
  },
  "validatingadmissionpolicybindings.admissionregistration.k8s.io": {
    "PolicyName": ".spec.policyName"
  },
  "volumeattachments.storage.k8s.io": {
    "Attacher": ".spec.attacher",
    "PV": ".spec.source.persistentVolumeName",
    "Node": ".spec.nodeName"
  },
  "volumeattributesclasses.storage.k8s.io": { "DriverName": ".driverName" }
};
