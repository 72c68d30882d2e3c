// The box in which expressions are tried out: against an object that the reader may get, on the
// server, where nothing is stored.

import { api, pathOf } from "../lib/api.js";
import { failure } from "../lib/dialog.js";
import { meant, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { fullName } from "../lib/kinds.js";
import { panel, table } from "../lib/plain.js";
import { stringify } from "../change/exact.js";
import { print, read } from "../change/text.js";
import { fetchObject } from "../change/wire.js";
import { expressionsOf, specOf } from "./expressions.js";

const PATH = "/apis/policies.polyplane.dev/v1/expressionreviews";
const OPERATIONS = ["CREATE", "UPDATE", "DELETE"];
const NAMESPACES = { group: "", version: "v1", resource: "namespaces", namespaced: false };
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const START = "object.metadata.name.size() > 3";

export class Tryout {
  constructor(tenant, signal) {
    Object.assign(this, { tenant, signal, policies: [], resource: null });
    this.policy = h("select", { name: "policy", onchange: () => this.choose() });
    this.expression = area("expression", START, 3);
    this.object = area("object", "", 10);
    this.params = area("params", "", 4);
    this.kinds = h("datalist", { id: "try-kinds" });
    this.said = h("div", { id: "results", role: "status" });
    this.element = panel("Try an expression out", this.form(), this.said);
    resources(tenant).then((all) => {
      const known = all.filter((one) => one.verbs.includes("get")).map(fullName).sort();
      replace(this.kinds, known.map((value) => h("option", { value })));
    });
  }

  form() {
    const load = h("button", { type: "button", class: "button", id: "load", onclick: () => this.load() }, "Load");
    const operation = h("select", { name: "operation" }, OPERATIONS.map((value) => h("option", { value }, value)));
    return h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), this.evaluate(event.target)) },
      h("div", { class: "asking" },
        h("label", { class: "field" }, "Of policy", this.policy),
        h("label", { class: "field" }, "Operation", operation),
        text("resource", "Kind", "try-kinds"), this.kinds,
        text("namespace", "Namespace"), text("name", "Name"), load),
      h("div", { class: "columns" },
        h("label", { class: "field" }, "Expression", this.expression),
        h("label", { class: "field" }, "Parameters (YAML)", this.params),
        h("label", { class: "field" }, "Object (YAML)", this.object)),
      h("button", { type: "submit", class: "button primary", id: "evaluate" }, "Evaluate"),
    );
  }

  /** The policies that may be chosen, as `uses.policies` has them. */
  offer(policies) {
    const chosen = this.policy.value;
    this.policies = policies;
    const names = policies.map(({ type, policy }) => `${type}/${policy.metadata.name}`);
    replace(this.policy, h("option", { value: "" }, "none: the expression below"),
      names.map((value) => h("option", { value, selected: value === chosen }, value)));
  }

  get chosen() {
    return this.policies.find(({ type, policy }) => `${type}/${policy.metadata.name}` === this.policy.value);
  }

  /** All expressions of the chosen policy are evaluated, in the place of the one that is typed. */
  async choose() {
    const { chosen } = this;
    this.expression.disabled = Boolean(chosen);
    if (!chosen) return;
    this.expression.value = expressionsOf(chosen.policy).map(({ expression }) => expression).join("\n\n");
    const kind = chosen.policy.spec.paramKind;
    const ref = chosen.bindings.find(({ binding }) => binding.spec.paramRef?.name)?.binding.spec.paramRef;
    if (!kind || !ref) return;
    try {
      const all = await resources(this.tenant);
      const resource = all.find((one) => one.kind === kind.kind && kind.apiVersion === version(one));
      const namespace = ref.namespace || this.element.querySelector("[name=namespace]").value;
      this.params.value = print(await this.fetched(resource, { namespace, name: ref.name }));
    } catch (error) {
      replace(this.said, failure(error));
    }
  }

  async load() {
    const { resource: { value: word }, namespace, name } = this.element.querySelector("form").elements;
    const [resource] = meant(await resources(this.tenant), word.trim());
    if (!resource) return replace(this.said, h("p", { class: "bad" }, `No kind is called ${word}.`));
    try {
      const at = { namespace: namespace.value.trim(), name: name.value.trim() };
      this.resource = resource;
      this.object.value = print(await this.fetched(resource, at));
      replace(this.said);
    } catch (error) {
      replace(this.said, failure(error));
    }
    return undefined;
  }

  /** Without what managers own, and of a Secret without its values. */
  async fetched(resource, { namespace, name }) {
    const { tenant, signal } = this;
    const secret = resource.group === "" && resource.resource === "secrets";
    const object = secret
      ? await api(tenant).get(pathOf(resource, { namespace, name }), { accept: METADATA, signal })
      : await fetchObject(tenant, resource, { namespace, name, signal });
    delete object.metadata.managedFields;
    if (!secret) return object;
    delete object.metadata.annotations?.[APPLIED];
    return { ...object, apiVersion: "v1", kind: "Secret" };
  }

  async evaluate(form) {
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
    const { chosen } = this;
    const parts = [parsed("object", this.object.value), parsed("params", this.params.value)];
    const wrong = parts.find(({ problem }) => problem);
    if (wrong) return replace(this.said, h("p", { class: "bad" }, wrong.problem));
    const [object, params] = parts.map(({ value }) => value);
    const [resource] = meant(await resources(this.tenant), values.resource);
    const spec = specOf({ policy: chosen?.policy, expression: this.expression.value, object, params,
      operation: values.operation, resource: resource ?? this.resource });
    try {
      const namespace = object?.metadata?.namespace || values.namespace;
      const within = namespace && (await this.namespace(namespace));
      if (within) spec.namespaceObject = within;
      const review = { apiVersion: "policies.polyplane.dev/v1", kind: "ExpressionReview", spec };
      const response = await api(this.tenant).request("POST", PATH, {
        body: stringify(review), headers: { "Content-Type": "application/json" }, signal: this.signal });
      const { status } = await response.json();
      replace(this.said, table(COLUMNS, status.results),
        h("p", { class: "muted" }, `Cost ${status.cost ?? 0} of ${status.budget}. Nothing was stored.`));
    } catch (error) {
      replace(this.said, failure(error));
    }
    return undefined;
  }

  /** As far as the reader may see it: without it the variable is null. */
  async namespace(name) {
    try {
      const object = await fetchObject(this.tenant, NAMESPACES, { name, signal: this.signal });
      delete object.metadata.managedFields;
      return object;
    } catch {
      return null;
    }
  }
}

const COLUMNS = [
  ["Expression", (result) => result.name],
  ["Type", (result) => result.type ?? ""],
  ["Value", (result) => value(result)],
  ["Cost", (result) => String(result.cost ?? ""), "numeric"],
];

function value({ value: found, error, issues = [] }) {
  if (issues.length) {
    return issues.map(({ line, column, message }) =>
      h("div", { class: "bad" }, `line ${line}, column ${column + 1}: ${message}`));
  }
  if (error) return h("span", { class: "bad", title: error }, error);
  return h("code", { class: found === false ? "bad" : found === true ? "good" : "" }, JSON.stringify(found ?? null));
}

function version({ group, version: own }) {
  return group ? `${group}/${own}` : own;
}

/** {value} or {problem} of a YAML text; of an empty one neither. */
function parsed(what, yaml) {
  if (!yaml.trim()) return {};
  const { value: found, problems } = read(yaml);
  return problems.length ? { problem: `${what}: ${problems[0].message}` } : { value: found };
}

function area(name, text_, rows) {
  return h("textarea", { name, rows: String(rows), spellcheck: "false", value: text_, "aria-label": name });
}

function text(name, label, list = null) {
  return h("label", { class: "field" }, label, h("input", { type: "text", name, list, autocomplete: "off" }));
}
