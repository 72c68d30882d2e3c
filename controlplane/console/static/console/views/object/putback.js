// Single fields of a difference, each with the way to give it its earlier value again: by an edit,
// which is reviewed as any other.

import { FILLED_IN } from "../../change/configuration.js";
import { h } from "../../lib/dom.js";
import { groupPart } from "../../lib/discovery.js";
import { address } from "../../lib/router.js";

const MOST = 50; // fields that are listed
const FEW = 6; // that are shown without being asked for

/** The fields that differ between two revisions of the object and can be edited; null where there
 *  is nothing to put back, or the user may not. */
export async function fieldsBack(subject, { from, to, signal }) {
  if (!from || !to || !subject.object || subject.isSecret) return null;
  const may = await Promise.all([subject.canRevisions("get", "diff"), subject.can("patch")]);
  if (!may.every(({ allowed }) => allowed)) return null;
  const asked = new URLSearchParams({ from, apiVersion: subject.apiVersion });
  const path = `${subject.revisions}/${to}/diff?${asked}`;
  const { changes = [] } = await subject.api.get(path, { signal });
  const fields = changes.filter((change) => isEdited(subject.resource, change.path));
  if (!fields.length) return null;
  return h(
    "details",
    { class: "put-back", open: fields.length <= FEW },
    h("summary", {}, "Put one of these back"),
    h(
      "ul",
      {},
      fields.slice(0, MOST).map((change) => h("li", {}, row(subject, from, change))),
    ),
    fields.length > MOST && h("p", { class: "muted" }, `The first ${MOST} of ${fields.length}.`),
  );
}

/** What `editable` of change/configuration.js keeps. */
function isEdited({ subresources }, path) {
  const [, first, second] = path.split(/[.[]/);
  if (first === "status") return !subresources.includes("status");
  return first !== "metadata" || !FILLED_IN.includes(second);
}

function row(subject, from, { path, type, from: before }) {
  const { tenant, resource, namespace, name } = subject;
  const page = address("t", tenant, groupPart(resource), resource.resource, namespace || "-", name);
  const query = new URLSearchParams({ field: path, revision: from });
  const value = type === "added" ? "(nothing)" : JSON.stringify(before);
  return [
    h("a", { class: "button", href: `${page}/edit?${query}` }, "Put back"),
    " ",
    h("code", {}, path),
    " → ",
    h("code", { title: value }, value.length > 60 ? `${value.slice(0, 60)}…` : value),
  ];
}
