// Admission: the tenant's policies and webhooks with what they have been used for, and a box to try
// expressions out.

import { configurations, objects, policies, uses, webhooks } from "../admission/uses.js";
import { Tryout } from "../admission/tryout.js";
import { failure } from "../lib/dialog.js";
import { groupPart } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { follow } from "../lib/follow.js";
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
      replace(said, hidden(counted), policyPanel(tenant, bound), webhookPanel(tenant, hooks));
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
  follow(tenant, known, () => load().catch(() => {}), signal);
  await load();
  if (signal.aborted) return;
  const timer = setInterval(draw, AGAIN);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

function hidden({ hidden: resources = [] }) {
  if (!resources.length) return null;
  return h("p", { class: "warn" }, `You may not list ${resources.join(", ")}.`);
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
    ...COUNTS("Evaluated"),
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
    ...COUNTS("Called"),
    ["Last error", (row) => lastError(row.use), "wrap"],
  ];
  return panel("Webhooks", table(columns, rows, "The tenant has no webhooks that you may see."));
}

function target({ url, service } = {}) {
  return url ?? (service ? `${service.namespace}/${service.name}:${service.port ?? 443}` : "");
}

// --- parts ----------------------------------------------------------------------------------------
const COUNTS = (title) => [
  [title, ({ use }) => number(use?.evaluations ?? 0), "numeric"],
  ["Refused", ({ use }) => counted(use?.refusals), "numeric"],
  ["Failed", ({ use }) => counted(use?.failures), "numeric"],
  ["Mean", ({ use }) => milliseconds(use?.meanSeconds), "numeric"],
];

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
