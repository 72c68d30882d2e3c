// Editing an object: its YAML, the server's dry run, what would change, then the apply.

import { withEarlier } from "../change/earlier.js";
import { Schemas } from "../change/schema.js";
import { mask } from "../change/secrets.js";
import { Edit } from "../change/session.js";
import { print } from "../change/text.js";
import { readOnly, right, styled } from "../change/ui.js";
import { document, fetchRevision } from "../change/wire.js";
import { Workbench } from "../change/workbench.js";
import { groupPart, resourceOf } from "../lib/discovery.js";
import { h } from "../lib/dom.js";
import { address, pathOf } from "../lib/router.js";
import { Subject } from "../lib/subject.js";
import { unserved } from "../lib/waysout.js";

export default async function edit({ tenant, params, query, root, signal }) {
  const resource = await resourceOf(tenant, params.group, params.resource);
  if (!resource) {
    root.append(unserved(tenant, `${params.resource}.${params.group}`));
    return;
  }
  const namespace = resource.namespaced ? params.namespace : "";
  const { name } = params;
  const parts = ["t", tenant, groupPart(resource), resource.resource, namespace || "-", name];
  const [kind, answer] = await Promise.all([
    kindOf(tenant, resource), right({ tenant, resource, namespace, name }, { verb: "patch" }), styled()]);
  const task = await Edit.open(kind, { namespace, name }, signal);
  if (!answer.allowed) {
    root.append(h("h1", {}, `${resource.kind} ${name}`), readOnly(tenant, [["Edit", answer]]));
    return;
  }
  const begun = await beginning(task, new Subject(tenant, resource, namespace, name), query, signal);
  const bench = new Workbench(root, task, {
    title: `Edit ${resource.kind} ${[namespace, name].filter(Boolean).join("/")}`,
    text: print(mask(begun.object)),
    back: address(...parts),
    stored: () => pathOf(...parts),
    verb: "Apply",
    said: begun.said,
  });
  if (!begun.at) return;
  bench.source.reveal(begun.at);
  await bench.review(); // it has been chosen already what is to be changed
}

/** What the editor begins with: the object as it is, or with one field as it was in a revision; what
    is `said` of that, and where (`at`) the field is. */
async function beginning(task, subject, query, signal) {
  const [field, revision] = [query.get("field"), query.get("revision")];
  if (!field || !revision || subject.isSecret) return { object: task.base };
  const then = await fetchRevision(subject, revision, signal);
  const earlier = withEarlier(task, then, field);
  if (!earlier) return { object: task.base, said: `Revision ${revision} has no ${field} to put back.` };
  const { object, path } = earlier;
  return { object, at: path, said: `${field} has its value of revision ${revision} again; nothing is stored yet.` };
}

/** What is known of a resource's kind: {tenant, resource, schemas, node}. */
export async function kindOf(tenant, resource) {
  const schemas = new Schemas(await document(tenant, resource));
  return { tenant, resource, schemas, node: schemas.root(resource) };
}
