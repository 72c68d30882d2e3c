// Admission: the tenant's policies and webhooks with what they have been used for, and a box to try
// expressions out.

import { configurations, objects, policies, uses, webhooks } from "../admission/uses.js";
import { Tryout } from "../admission/tryout.js";
import { failure } from "../lib/dialog.js";
import { groupPart } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { following } from "../lib/follow.js";
import { panel, table } from "../lib/plain.js";
import { address } from "../lib/router.js";
import { age } from "../lib/time.js";
import { number } from "../lib/units.js";

const AGAIN = 3000; // milliseconds between looks at what is counted

export default async function admission({ tenant, root, signal }) {
  const said = h("div", {});
  const box = new Tryout(tenant, signal);
  replace(root, h("div", { class: "toolbar" }, h("h1", {}, "Admission")), said, box.element);
  const found = await configurations(tenant);
  const state = { loaded: null, shown: "" };
  const draw = async () => {
    try {
      const counted = await uses(tenant, signal);
      const now = JSON.stringify([state.loaded, counted]);
      if (now === state.shown) return;
      state.shown = now;
      const bound = policies(found, state.loaded, counted);
      const hooks = webhooks(found, state.loaded, counted);
      replace(said, hidden(counted), policyPanel(tenant, bound), webhookPanel(tenant, hooks), since(tenant));
      box.offer(bound);
    } catch (error) {
      if (!signal.aborted) replace(said, failure(error));
    }
  };
  const load = async () => {
    state.loaded = await objects(tenant, found, signal);
    await draw();
  };
  const known = Object.values(found).flatMap((byType) => Object.values(byType)).filter(Boolean);
  const follow = await following(tenant, known, signal); // before it is asked what there is
  await load();
  if (signal.aborted) return;
  const timer = setInterval(draw, AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  await follow(() => load().catch(() => {}));
}

function hidden({ hidden: resources = [] }) {
  if (!resources.length) return null;
  return h("p", { class: "warn" }, `You may not list ${resources.join(", ")}.`);
}

/** Of when the counts are, and what tells more of a refusal. */
function since(tenant) {
  const log = h("a", { href: refusalsIn(tenant, "denied") }, "all that they have refused in the last day");
  return h("p", { class: "muted" }, "Counted since the server's workers began. Who was refused, and why, is in the audit log: ", log, ".");
}

// --- policies -------------------------------------------------------------------------------------
function policyPanel(tenant, rows) {
  const lines = rows.flatMap((row) =>
    row.bindings.length ? row.bindings.map((bound) => ({ ...row, ...bound })) : [{ ...row, use: row.own }],
  );
  const given = lines.some((row) => parameters(row));
  const checked = lines.some(({ policy }) => policy.status?.typeChecking?.expressionWarnings?.length);
  const columns = [
    ["Policy", ({ resource, policy }) => link(tenant, resource, policy), "name"],
    ["Type", (row) => row.type],
    ["Binding", (row) => (row.binding ? link(tenant, row.bound, row.binding) : h("span", { class: "warn" }, "none")), "name"],
    ["Actions", (row) => (row.binding?.spec.validationActions ?? []).join(", ")],
    ["Parameters", parameters, given ? "name" : null],
    ["On failure", ({ policy }) => policy.spec.failurePolicy ?? "Fail"],
    ...COUNTS(tenant, "Evaluated", ({ policy, binding }) => denied(policy, binding)),
    ["Type check", (row) => warnings(row.policy), checked ? "wrap" : null],
    ["Last error", (row) => lastError(row.use ?? row.own), "wrap"],
  ];
  return panel("Policies", table(columns, lines, "The tenant has no policies that you may see."));
}

function parameters({ policy, binding }) {
  const kind = policy.spec.paramKind?.kind ?? "";
  const ref = binding?.spec.paramRef;
  return ref ? `${kind} ${[ref.namespace, ref.name ?? "by labels"].filter(Boolean).join("/")}` : kind;
}

/** What type checking has found. */
function warnings({ status }) {
  const found = status?.typeChecking?.expressionWarnings ?? [];
  if (!found.length) return status?.typeChecking ? h("span", { class: "good" }, "good") : "";
  return found.map(({ fieldRef, warning }) =>
    h("span", { class: "warn", title: warning }, `${fieldRef}: ${warning} `));
}

// --- webhooks -------------------------------------------------------------------------------------
function webhookPanel(tenant, rows) {
  const columns = [
    ["Webhook", ({ webhook }) => webhook.name, "name"],
    ["Type", (row) => row.type],
    ["Configuration", ({ resource, configuration }) => link(tenant, resource, configuration), "name"],
    ["Calls", ({ webhook }) => target(webhook.clientConfig), "name"],
    ["On failure", ({ webhook }) => webhook.failurePolicy ?? "Fail"],
    ...COUNTS(tenant, "Called", ({ webhook }) => `admission webhook "${webhook.name}" denied`),
    ["Last error", (row) => lastError(row.use), "wrap"],
  ];
  return panel("Webhooks", table(columns, rows, "The tenant has no webhooks that you may see."));
}

function target({ url, service } = {}) {
  return url ?? (service ? `${service.namespace}/${service.name}:${service.port ?? 443}` : "");
}

// --- parts ----------------------------------------------------------------------------------------
/** words(row): those that every refusal's message has, by which the audit log finds them. */
const COUNTS = (tenant, title, words) => [
  [title, ({ use }) => number(use?.evaluations ?? 0), "numeric"],
  ["Refused", (row) => refusals(tenant, row.use?.refusals, words(row)), "numeric"],
  ["Failed", ({ use }) => counted(use?.failures), "numeric"],
  ["Mean", ({ use }) => milliseconds(use?.meanSeconds), "numeric"],
];

/** Of validating and mutating policies alike. */
function denied({ metadata: { name } }, binding) {
  return binding ? `'${name}' with binding '${binding.metadata.name}' denied` : `'${name}' denied`;
}

/** How many, as a link to the entries of the audit log that say who was refused, and why. */
function refusals(tenant, count = 0, message) {
  if (!count) return counted(count);
  const title = "Who was refused, and why: the audit log of the last day";
  return h("a", { class: "bad", href: refusalsIn(tenant, message), title }, number(count));
}

function refusalsIn(tenant, message) {
  return `${address("audit")}?${new URLSearchParams({ tenant, message })}`;
}

function counted(count = 0) {
  return h("span", { class: count ? "bad" : "" }, number(count));
}

function milliseconds(seconds) {
  return seconds ? `${(seconds * 1000).toFixed(seconds < 0.01 ? 3 : 1)} ms` : "";
}

function lastError(use) {
  if (!use?.lastErrorTime) return "";
  const text = use.lastError ?? "for those to read who may update it";
  return h("span", { class: "bad", title: text }, age(use.lastErrorTime), " ago: ", text);
}

function link(tenant, resource, { metadata: { name } }) {
  const to = address("t", tenant, groupPart(resource), resource.resource, "-", name);
  return h("a", { href: to }, name);
}
