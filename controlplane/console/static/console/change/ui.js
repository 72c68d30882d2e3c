/* What the pages of changes share: their stylesheet, buttons that know one's rights. */

import { h, replace } from "../lib/dom.js";
import { api } from "../lib/api.js";
import { open } from "../lib/dialog.js";
import { keep, recall } from "../lib/state.js";

const EXPLANATIONS = "/apis/authorization.polyplane.dev/v1/accessexplanations";
const MANAGER = "manager";
const OWN_MANAGER = "polyplane-console";

/** Loads the stylesheet of changes, once. */
export function styled() {
  const href = new URL("./change.css", import.meta.url).pathname;
  if (document.querySelector(`link[href="${href}"]`)) return Promise.resolve();
  return new Promise((resolve) => {
    const link = h("link", { rel: "stylesheet", href, onload: resolve, onerror: resolve });
    document.head.append(link);
  });
}

/** The field manager in whose name this browser writes. */
export function manager() {
  return recall(MANAGER, "") || OWN_MANAGER;
}

export function rememberManager(name) {
  keep(MANAGER, name);
}

/** What the authorizer says to a question: {allowed, reason, question}. question: {verb,
    subresource}; about: {tenant, resource, namespace, name}. */
export async function right({ tenant, resource, namespace, name }, { verb, subresource }) {
  const { group, resource: plural } = resource;
  const question = { verb, group, resource: plural, namespace, name, subresource };
  const answer = await api(tenant).can(verb, group, plural, { namespace, name, subresource });
  return { ...answer, question };
}

/** A button for somebody who may; for anybody else a disabled one, and beside it why. */
export function guarded(tenant, label, answer, attributes) {
  const look = `button ${attributes.class ?? ""}`;
  if (answer.allowed) return h("button", { type: "button", ...attributes, class: look }, label);
  return h("span", { class: "refused" },
    h("button", { type: "button", disabled: true, class: look }, label),
    h("button", {
      type: "button", class: "icon why", "aria-label": `Why not: ${label}`, title: "Why not?",
      onclick: () => tellWhy(tenant, [[label, answer]]),
    }, "?"));
}

/** One line for somebody who may do nothing of it. */
export function readOnly(tenant, refused) {
  return h("span", { class: "read-only" }, "Read only ",
    h("button", { type: "button", class: "button quiet why-all", onclick: () => tellWhy(tenant, refused) },
      "Why?"));
}

/** refused: [[label, answer of `right`]]. */
export function tellWhy(tenant, refused) {
  return open("Why not?", (close) => [
    refused.map(([label, answer]) => {
      const body = h("div", { class: "reason" }, "…");
      reasons(tenant, answer).then((lines) => replace(body, lines));
      return [h("h3", {}, label), body];
    }),
    h("footer", {}, h("button", { type: "button", class: "button", onclick: () => close() }, "Close")),
  ].flat(2));
}

async function reasons(tenant, { reason, question }) {
  const asked = [question.verb, [question.resource, question.subresource].filter(Boolean).join("/"),
    question.group && `of ${question.group}`, question.namespace && `in ${question.namespace}`];
  const lines = [h("p", {}, `No rule grants you “${asked.filter(Boolean).join(" ")}”.`)];
  if (reason) lines.push(h("p", {}, reason));
  const status = await explained(tenant, question);
  for (const miss of status?.nearMisses ?? []) lines.push(nearMiss(miss));
  if (status && !status.nearMisses?.length) lines.push(h("p", {}, "No binding of yours comes near it."));
  return lines;
}

function nearMiss({ binding, role, lacking = [] }) {
  const name = ({ kind, namespace, name: n }) => `${kind} ${[namespace, n].filter(Boolean).join("/")}`;
  return h("p", {}, `${name(binding)} gives you ${name(role)}, which comes nearest; it lacks: `
    + `${lacking.join(", ")}.`);
}

/** The AccessExplanation's status; undefined for somebody who may not see one. */
async function explained(tenant, { verb, group, resource, namespace, name, subresource }) {
  const resourceAttributes = { verb, group, resource, namespace, name, subresource };
  try {
    const answer = await api(tenant).can("create", "authorization.polyplane.dev", "accessexplanations");
    if (!answer.allowed) return undefined;
    const review = await api(tenant).send("POST", EXPLANATIONS, {
      apiVersion: "authorization.polyplane.dev/v1", kind: "AccessExplanation",
      spec: { resourceAttributes },
    });
    return review.status;
  } catch {
    return undefined; // the reason of the review has to do
  }
}
