// The commands that do in a terminal what a page shows.

/** Quoted for a POSIX shell where it has to be. */
export function quoted(text) {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** "deployments.apps/web -n shop --context acme" in its parts. The context is called as in the
 *  kubeconfig that the tenant's page gives; behind, since a plugin's name comes before all flags. */
function meant({ tenant, resource, namespace, name }) {
  const kind = resource.group ? `${resource.resource}.${resource.group}` : resource.resource;
  const where = namespace ? ["-n", namespace] : [];
  return { named: `${kind}/${name}`, where, context: contextOf(tenant) };
}

function contextOf(tenant) {
  return ["--context", tenant];
}

function line(...words) {
  return ["kubectl", ...words].map(quoted).join(" ");
}

/** Commands about an object, each [what it does, the command]. */
export function commands(subject, { deleted = false } = {}) {
  const { named, where, context } = meant(subject);
  const polyplane = (verb) => line("polyplane", verb, named, ...where, ...context);
  if (deleted) {
    return [
      ["History", polyplane("history")],
      ["Undelete", polyplane("undelete")],
    ];
  }
  return [
    ["Get as YAML", line("get", named, ...where, "-o", "yaml", ...context)],
    ["Describe", line("describe", named, ...where, ...context)],
    ["Edit", line("edit", named, ...where, ...context)],
    ["Watch", line("get", named, ...where, "-w", ...context)],
    ["History", polyplane("history")],
    ["Diff of the last two", polyplane("diff")],
    ["Blame", polyplane("blame")],
    ["Delete", line("delete", named, ...where, ...context)],
  ];
}

export function rollbackCommand(subject, revision) {
  const { named, where, context } = meant(subject);
  return line("polyplane", "rollback", named, "--to-revision", revision, ...where, ...context);
}

/** A JSON patch by kubectl. */
export function patchCommand(subject, patch) {
  const { named, where, context } = meant(subject);
  return line("patch", named, ...where, "--type=json", "-p", JSON.stringify(patch), ...context);
}

/** What takes the finalizers of a namespace's spec away: a subresource, which is sent as it is. The
 *  path of the tenant is left out by `kubectl --raw`. */
export function finalizeCommand({ tenant, name }) {
  const root = tenant !== "default" ? `/clusters/${tenant}` : "";
  const path = quoted(`${root}/api/v1/namespaces/${name}/finalize`);
  const context = contextOf(tenant);
  const emptied = `${line("get", "namespace", name, "-o", "json", ...context)} | jq '.spec.finalizers=[]'`;
  return `${emptied} | kubectl replace --raw ${path} -f - ${context.map(quoted).join(" ")}`;
}
