// Why an object that is being deleted is still there, and what takes it away.

import { stringify } from "../../change/exact.js";
import { guarded } from "../../change/ui.js";
import { copier } from "../../lib/clipboard.js";
import { h, replace } from "../../lib/dom.js";
import { confirm, failure, notify } from "../../lib/dialog.js";
import { groupPart, resources } from "../../lib/discovery.js";
import { finalizersOf, removal } from "../../lib/finalizers.js";
import { finalizeCommand, patchCommand } from "../../lib/kubectl.js";
import { dependentsOf } from "../../lib/relations.js";
import { address } from "../../lib/router.js";
import { age } from "../../lib/time.js";

const SAMPLE = 5; // of each kind that is left in a namespace

export default async function stuck({ subject, panel, signal }) {
  const holds = h("section", {});
  const conditions = h("section", {});
  const blocks = h("section", {});
  const isNamespace = subject.resource.group === "" && subject.resource.resource === "namespaces";
  // a namespace goes by itself once what is in it has gone: to free that is what is to be done
  panel.append(...(isNamespace ? [blocks, holds, conditions] : [holds, conditions, blocks]));
  const draw = async () => {
    const { object } = subject;
    if (!object?.metadata.deletionTimestamp) {
      const why = object
        ? "Nobody has asked for its deletion."
        : "It is gone: nothing holds it any more.";
      replace(holds, h("p", { class: "banner good" }, why));
      replace(conditions);
      replace(blocks);
      return;
    }
    replace(conditions, conditionsOf(object));
    const drawn = [held(subject, object, panel), blockers(subject, object, signal)];
    for (const [part, nodes] of [
      [holds, drawn[0]],
      [blocks, drawn[1]],
    ]) {
      replace(part, await nodes);
    }
  };
  await draw();
  return draw;
}

// --- finalizers -----------------------------------------------------------------------------------
async function held(subject, object, panel) {
  const found = finalizersOf(object);
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = object.metadata;
  const since = h(
    "p",
    {},
    "Its deletion was asked for ",
    age(deletionTimestamp),
    " ago; ",
    found.length
      ? "it stays until the controllers below have taken their finalizers away."
      : `nothing holds it but its grace period${grace === undefined ? "" : ` of ${grace} s`}.`,
  );
  const rights = await Promise.all([subject.can("patch"), subject.can("update", "finalize")]);
  return [
    h("h2", {}, "What holds it"),
    since,
    found.map((one) =>
      card(subject, object, one, one.path[0] === "spec" ? rights[1] : rights[0], panel),
    ),
  ];
}

function card(subject, object, finalizer, may, panel) {
  const spec = finalizer.path[0] === "spec";
  const command = spec
    ? finalizeCommand(subject)
    : patchCommand(subject, removal(object, finalizer));
  const act = () => free(subject, finalizer).catch((error) => panel.prepend(failure(error)));
  return h(
    "article",
    { class: "card finalizer" },
    h("h3", {}, h("code", {}, finalizer.name)),
    h(
      "dl",
      {},
      h("dt", {}, "Taken away by"),
      h("dd", {}, finalizer.owner, finalizer.manager && `; ${finalizer.manager} has put it there`),
      h("dt", {}, "Waits for"),
      h("dd", {}, finalizer.why),
      h("dt", {}, "By hand"),
      h("dd", {}, h("code", { class: "command" }, command), " ", copier(command, "the command")),
    ),
    guarded(subject.tenant, "Remove this finalizer", may, { class: "danger remove-finalizer", onclick: act }),
  );
}

/** What comes of it. */
function losses({ name, path, owner }) {
  if (path[0] === "spec" && name === "kubernetes") {
    return "The namespace goes, and what is left in it stays behind without one. Free that first.";
  }
  return `It is for ${owner} to do that, once it has cleaned up. What it would have cleaned up stays behind.`;
}

/** Takes a finalizer away, if the object still is the one that was shown. */
async function free(subject, finalizer) {
  const { object } = subject;
  const agreed = await confirm({
    title: `Remove finalizer ${finalizer.name}`,
    text: `${losses(finalizer)} The removal is in the audit log under your name.`,
    typed: subject.name,
    danger: true,
    action: "Remove the finalizer",
  });
  if (!agreed) return;
  const options = { fieldManager: "polyplane-console" };
  if (finalizer.path[0] === "spec") {
    const kept = object.spec.finalizers.filter((name) => name !== finalizer.name);
    const body = { ...object, spec: { ...object.spec, finalizers: kept } };
    await subject.api.send("PUT", `${subject.path}/finalize`, stringify(body), options);
  } else {
    const contentType = "application/json-patch+json";
    await subject.api.send("PATCH", subject.path, removal(object, finalizer), {
      ...options,
      contentType,
    });
  }
  notify(`${finalizer.name} is gone from ${subject.name}.`);
}

// --- conditions -----------------------------------------------------------------------------------
function conditionsOf(object) {
  const list = (object.status?.conditions ?? []).filter(({ type }) => type);
  if (!list.length) return [];
  const heads = ["Condition", "Status", "Since", "Reason", "Message"];
  return [
    h("h2", {}, "Conditions"),
    h(
      "table",
      { class: "list" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          heads.map((text) => h("th", {}, text)),
        ),
      ),
      h(
        "tbody",
        {},
        list.map(({ type, status, lastTransitionTime, reason, message }) =>
          h(
            "tr",
            {},
            [type, status, age(lastTransitionTime), reason ?? ""].map((text) => h("td", {}, text)),
            h("td", { class: "wrap" }, message ?? ""),
          ),
        ),
      ),
    ),
  ];
}

// --- what has to go first -------------------------------------------------------------------------
async function blockers(subject, object, signal) {
  if (object.kind === "Namespace" && subject.resource.group === "") {
    return inNamespace(subject, object, signal);
  }
  if (!(object.metadata.finalizers ?? []).includes("foregroundDeletion")) return [];
  const { dependents } = await dependentsOf(subject.api, object.metadata.uid, signal);
  const blocking = dependents.filter((one) => one.blockOwnerDeletion);
  return [h("h2", {}, "Dependents that have to go first"), listed(subject, blocking)];
}

/** What is left in a namespace, as far as the user may list it: of the kinds that its conditions
 *  name, of all while they name none. */
async function inNamespace(subject, object, signal) {
  const named = remaining(object);
  const kinds = (await resources(subject.tenant)).filter(
    ({ namespaced, verbs, group, resource }) =>
      namespaced &&
      verbs.includes("list") &&
      verbs.includes("delete") &&
      (!named.size || named.has(`${resource}.${group}`)),
  );
  const answers = await Promise.all(kinds.map((kind) => left(subject, kind, signal)));
  const found = answers.flat();
  const title = h("h2", {}, "What is left in the namespace");
  if (!found.length) return [title, h("p", { class: "muted" }, "Nothing that you may list.")];
  found.sort((a, b) => b.finalizers.length - a.finalizers.length);
  return [title, h("p", {}, "The namespace goes by itself once these have gone."), listed(subject, found)];
}

/** "resource.group" of what the namespace controller says is left ("configmaps. has 1 resource
 *  instances, ..."). */
function remaining({ status }) {
  const { message = "" } =
    (status?.conditions ?? []).find(
      ({ type, status: is }) => type === "NamespaceContentRemaining" && is === "True",
    ) ?? {};
  return new Set(
    [...message.matchAll(/(\S+) has \d+ resource instances/g)].map(([, name]) => name),
  );
}

async function left(subject, kind, signal) {
  const namespace = subject.name;
  const { allowed } = await subject.api.can("list", kind.group, kind.resource, { namespace });
  if (!allowed) return [];
  const page = await subject.api.list(kind, { namespace, metadata: true, limit: SAMPLE, signal });
  return (page.items ?? []).map(({ metadata }) => ({
    ...kind,
    namespace,
    name: metadata.name,
    deletionTimestamp: metadata.deletionTimestamp,
    finalizers: metadata.finalizers ?? [],
    more: page.metadata.remainingItemCount ?? 0,
  }));
}

function listed(subject, found) {
  return h(
    "ul",
    { class: "tree blockers" },
    found.map((one) => {
      const { kind, namespace, name, resource, deletionTimestamp, finalizers = [] } = one;
      const to = address("t", subject.tenant, groupPart(one), resource, namespace || "-", name);
      return h(
        "li",
        {},
        h("a", { href: deletionTimestamp ? `${to}?tab=stuck` : to }, h("b", {}, kind), ` ${name}`),
        deletionTimestamp &&
          h("span", { class: "badge bad" }, "being deleted for ", age(deletionTimestamp)),
        finalizers.map((text) => h("code", { class: "chip" }, text)),
        one.more > 0 && h("span", { class: "muted" }, ` and ${one.more} more`),
      );
    }),
  );
}
