// Rollback and undelete: first as a dry run, whose outcome is shown; then for good, if the object is
// still the one that was shown.

import { confirm, failure, open } from "../../lib/dialog.js";
import { h } from "../../lib/dom.js";
import { rollbackCommand } from "../../lib/kubectl.js";
import { address } from "../../lib/router.js";
import { changesBetween } from "./changes.js";

const MANAGER = "polyplane-console";

/** Restores a revision, "rollback" or "undelete"; the RevisionRestore, or null where nothing was
 *  done. What the server refuses is shown. */
export async function restore(subject, revision, how) {
  const number = revision.metadata.name;
  const path = `${subject.revisions}/${number}/${how}`;
  const body = {
    apiVersion: "history.polyplane.dev/v1",
    kind: "RevisionRestore",
    preconditions: preconditionsOf(subject),
  };
  const ask = (options) =>
    subject.api.send("POST", path, body, { fieldManager: MANAGER, exact: true, ...options });
  try {
    const outcome = await ask({ dryRun: true });
    if (outcome.unchanged) return outcome;
    const agreed = await confirm({
      title: how === "undelete" ? `Undelete ${subject.name}` : `Restore revision ${number}`,
      text: "The write goes through admission and validation, and gets a new resourceVersion.",
      action: how === "undelete" ? "Undelete" : "Restore",
      detail: preview(subject, outcome, how, number),
    });
    return agreed ? await ask({}) : null;
  } catch (error) {
    await open(`Revision ${number} does not come back`, (close) => [
      failure(error),
      wayOut(subject, error, close),
    ]);
    return null;
  }
}

/** What has to be done first, where its namespace is not there any more. */
function wayOut({ tenant, namespace }, { code, status }, close) {
  if (!namespace || code !== 404 || status?.details?.kind !== "namespaces") return null;
  const page = `${address("t", tenant, "core", "namespaces", "-", namespace)}?tab=history`;
  const link = h("a", { href: page, onclick: () => close() }, namespace);
  return h("p", {}, "It comes back to its namespace: undelete ", link, " first.");
}

/** What is told of a restore. */
export function restored(subject, revision, { unchanged }) {
  if (unchanged) return `${subject.name} is like that already.`;
  if (revision.type === "DELETED") return `${subject.name} is back.`;
  return `${subject.name} is as in revision ${revision.metadata.name}.`;
}

function preconditionsOf({ object }) {
  if (!object) return {};
  const { uid, resourceVersion } = object.metadata;
  return { uid, resourceVersion };
}

function preview(subject, outcome, how, number) {
  const left = outcome.notRestored ?? [];
  const before = subject.object;
  const values = subject.isSecret
    ? h("p", {}, "What changes are values of a Secret.")
    : changesBetween(before, outcome.object, { hidden: subject.hides });
  return h(
    "div",
    { class: "preview" },
    values,
    left.length > 0 &&
      h(
        "div",
        {},
        h("h3", {}, "Does not come back"),
        h(
          "ul",
          {},
          left.map(({ path, reason }) => h("li", {}, h("code", {}, path), `: ${reason}`)),
        ),
      ),
    how === "rollback" &&
      h("p", { class: "muted" }, h("code", {}, rollbackCommand(subject, number))),
  );
}
