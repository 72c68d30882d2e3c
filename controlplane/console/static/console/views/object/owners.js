// Owners above, dependents below, and what refers to what without being owned.

import { fieldSelectorOf } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { failure } from "../../lib/dialog.js";
import { groupPart, resourceOf, resourceOfKind } from "../../lib/discovery.js";
import { isBoundBy, references } from "../../lib/references.js";
import { dependentsOf } from "../../lib/relations.js";
import { address } from "../../lib/router.js";
import { age } from "../../lib/time.js";
import { holds } from "./holds.js";

const MOST = 500; // of a kind, where all are looked through
const DEPTH = 8; // of owners: references may go in a circle

export default async function owners({ subject, panel, signal }) {
  const parts = ["tree", "out", "in"].map(() => h("section", {}));
  const drawn = []; // what stood in each at first: branches that were opened since stay open
  const draw = async () => {
    const { object } = subject;
    if (!object) {
      drawn[0] = null;
      replace(parts[0], h("p", { class: "muted" }, "There is no such object now."));
      return;
    }
    const titles = ["Owners and dependents", "Refers to", "Related"];
    const asked = [
      tree(subject, object, signal),
      outward(subject, object),
      inward(subject, object, signal),
    ];
    const show = (nodes, at) => {
      const made = h("section", {}, h("h2", {}, titles[at]), nodes);
      if (drawn[at]?.isEqualNode(made)) return;
      drawn[at] = made.cloneNode(true);
      replace(parts[at], ...made.childNodes);
    };
    await Promise.all(asked.map(async (nodes, at) => show(await nodes, at)));
  };
  panel.append(h("div", { class: "relations" }, parts));
  await draw();
  return draw;
}

// --- owners and dependents ------------------------------------------------------------------------
/** One tree: the owners, each below its own, this object, and its dependents. */
async function tree(subject, object, signal) {
  const above = await ownersOf(subject, object, signal);
  const below = await branches(subject, object.metadata.uid, signal);
  const here = h(
    "li",
    { class: "here" },
    h("b", {}, object.kind),
    " ",
    object.metadata.name,
    below,
  );
  const roots = [here];
  const nested = above.reduceRight((inner, node) => [h("li", {}, node, h("ul", {}, inner))], roots);
  return h("ul", { class: "tree" }, nested);
}

/** The chain of owners, the topmost first. Of several owners all but the controller stand beside. */
async function ownersOf(subject, object, signal) {
  const chain = [];
  const seen = new Set([object.metadata.uid]);
  let current = object;
  while (current && chain.length < DEPTH) {
    const list = current.metadata.ownerReferences ?? [];
    const first = list.find((owner) => owner.controller) ?? list[0];
    if (!first || seen.has(first.uid)) break;
    seen.add(first.uid);
    const found = await found_(subject, first, current.metadata.namespace, signal);
    const others = list.filter((owner) => owner !== first);
    const beside = await Promise.all(
      others.map((owner) =>
        found_(subject, owner, current.metadata.namespace, signal).then((one) => [" + ", one.node]),
      ),
    );
    chain.unshift(h("span", {}, found.node, beside));
    current = found.object;
  }
  return chain;
}

/** An owner, {node, object}: object is its metadata, null where it is gone or may not be seen. */
async function found_(subject, owner, namespace, signal) {
  const { tenant } = subject;
  const resource = await resourceOfKind(tenant, owner.apiVersion, owner.kind);
  if (!resource) return { node: plain(owner, "a kind that is not served"), object: null };
  const where = resource.namespaced ? namespace : "";
  const may = await subject.api.can("list", resource.group, resource.resource, {
    namespace: where,
    name: owner.name,
  });
  const node = [link(tenant, resource, where, owner.name), flags(owner)];
  if (!may.allowed)
    return { node: [...node, h("span", { class: "muted" }, " (not yours to see)")], object: null };
  const selected = {
    namespace: where,
    fieldSelector: fieldSelectorOf({ "metadata.name": owner.name }),
    metadata: true,
    signal,
  };
  const [object] = (await subject.api.list(resource, selected)).items ?? [];
  if (!object) return { node: plain(owner, "gone"), object: null };
  if (object.metadata.uid !== owner.uid)
    return { node: plain(owner, "another object of that name is there"), object: null };
  return { node, object };
}

function plain({ kind, name }, why) {
  return [h("b", {}, kind), ` ${name} `, h("span", { class: "badge bad" }, why)];
}

function flags({ controller, blockOwnerDeletion }) {
  return h(
    "span",
    { class: "muted" },
    controller ? " controller" : "",
    blockOwnerDeletion ? " blocks its deletion" : "",
  );
}

/** The dependents of an object as a list whose items open to theirs. */
async function branches(subject, uid, signal) {
  const { dependents, incomplete } = await dependentsOf(subject.api, uid, signal);
  if (!dependents.length) return null;
  const items = await Promise.all(dependents.map((one) => branch(subject, one, signal)));
  return h("ul", {}, items, incomplete && h("li", { class: "muted" }, "… and more"));
}

async function branch(subject, one, signal) {
  const resource = await resourceOf(subject.tenant, one.group ?? "", one.resource);
  const below = h("span", {});
  const open = async (event) => {
    event.target.remove();
    try {
      replace(
        below,
        (await branches(subject, one.uid, signal)) ??
          h("span", { class: "muted" }, " no dependents"),
      );
    } catch (error) {
      replace(below, failure(error));
    }
  };
  return h(
    "li",
    {},
    resource
      ? link(subject.tenant, resource, one.namespace ?? "", one.name)
      : plain(one, "a kind that is not served"),
    flags(one),
    one.deletionTimestamp &&
      h("span", { class: "badge bad" }, "being deleted for ", age(one.deletionTimestamp)),
    h(
      "button",
      { type: "button", class: "fold", "aria-label": `Dependents of ${one.name}`, onclick: open },
      "▸",
    ),
    below,
  );
}

function link(tenant, resource, namespace, name) {
  const to = address("t", tenant, groupPart(resource), resource.resource, namespace || "-", name);
  return h("a", { href: to }, h("b", {}, resource.kind), ` ${name}`);
}

// --- references -----------------------------------------------------------------------------------
async function outward(subject, object) {
  const rows = await Promise.all(
    references(object).map(async ({ why, apiVersion, kind, namespace, name }) => {
      const resource = await resourceOfKind(subject.tenant, apiVersion, kind);
      if (!resource)
        return h("li", {}, why, " ", plain({ kind, name }, "a kind that is not served"));
      return h(
        "li",
        {},
        `${why} `,
        link(subject.tenant, resource, resource.namespaced ? namespace : "", name),
      );
    }),
  );
  const others = (object.subjects ?? []).filter(({ kind }) => kind !== "ServiceAccount");
  rows.push(...others.map(({ kind, name }) => h("li", {}, "to ", h("b", {}, kind), ` ${name}`)));
  return rows.length
    ? h("ul", { class: "tree" }, rows)
    : h("p", { class: "muted" }, "It names no other object.");
}

/** What points here, or belongs to it by labels. */
async function inward(subject, object, signal) {
  const groups = await Promise.all(
    questionsAbout(subject, object).map(([title, kind, options, wanted]) =>
      asked(subject, title, kind, options, wanted, signal),
    ),
  );
  const found = [await holds(subject), ...groups].filter(Boolean);
  return found.length ? found : h("p", { class: "muted" }, "Nothing else is known.");
}

const RBAC = "rbac.authorization.k8s.io";

function questionsAbout(subject, object) {
  const { namespace, name } = subject;
  const granted = (binding) => isBoundBy(object, binding);
  switch (subject.resource.kind) {
    case "Service": {
      const slices = { namespace, labelSelector: `kubernetes.io/service-name=${name}` };
      const asks = [["Endpoints", ["discovery.k8s.io", "endpointslices"], slices, () => true]];
      const selector = selectorText(object.spec?.selector);
      if (selector)
        asks.push([
          "Pods that it selects",
          ["", "pods"],
          { namespace, labelSelector: selector },
          () => true,
        ]);
      return asks;
    }
    case "Role":
      return [["Bound by", [RBAC, "rolebindings"], { namespace }, granted]];
    case "ClusterRole":
      return [
        ["Bound everywhere by", [RBAC, "clusterrolebindings"], {}, granted],
        ["Bound in a namespace by", [RBAC, "rolebindings"], {}, granted],
      ];
    case "ServiceAccount":
      return [
        ["Bound in a namespace by", [RBAC, "rolebindings"], {}, granted],
        ["Bound everywhere by", [RBAC, "clusterrolebindings"], {}, granted],
        [
          "Pods that run as it",
          ["", "pods"],
          { namespace, fieldSelector: fieldSelectorOf({ "spec.serviceAccountName": name }) },
          () => true,
        ],
      ];
    case "Node":
      return [
        [
          "Pods on it",
          ["", "pods"],
          { fieldSelector: fieldSelectorOf({ "spec.nodeName": name }) },
          () => true,
        ],
      ];
    default:
      return [];
  }
}

function selectorText(selector) {
  return Object.entries(selector ?? {})
    .map(([label, value]) => `${label}=${value}`)
    .join(",");
}

async function asked(subject, title, [group, plural], options, wanted, signal) {
  const resource = await resourceOf(subject.tenant, group, plural);
  const may =
    resource &&
    (await subject.api.can("list", group, plural, { namespace: options.namespace ?? "" }));
  if (!may?.allowed) return null;
  const page = await subject.api.list(resource, { ...options, limit: MOST, signal });
  const rows = (page.items ?? [])
    .filter(wanted)
    .map((item) =>
      h(
        "li",
        {},
        link(subject.tenant, resource, item.metadata.namespace ?? "", item.metadata.name),
        summary(item),
      ),
    );
  const more = page.metadata.continue
    ? h("li", { class: "muted" }, `of the first ${MOST} only`)
    : null;
  return [
    h("h3", {}, title),
    rows.length || more
      ? h("ul", { class: "tree" }, rows, more)
      : h("p", { class: "muted" }, "none"),
  ];
}

/** What of an EndpointSlice its Service is about: addresses and whether they are ready. */
function summary({ endpoints, ports, roleRef }) {
  if (roleRef) return h("span", { class: "muted" }, ` → ${roleRef.kind} ${roleRef.name}`);
  if (!endpoints) return null;
  const open = (ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`).join(", ");
  const texts = endpoints.map(
    ({ addresses, conditions }) =>
      `${addresses.join(", ")}${conditions?.ready === false ? " (not ready)" : ""}`,
  );
  return h(
    "span",
    { class: "muted" },
    ` ${texts.join("; ") || "no addresses"} ${open && `· ${open}`}`,
  );
}
