// Access: who may do something, what somebody may do and why, and giving somebody a role.

import { giveButton } from "../access/give.js";
import { sourceLink, subjectLink } from "../access/links.js";
import {
  identity,
  KINDS,
  named,
  question,
  ruleText,
  SUBJECTS,
  subjectOf,
  VERBS,
} from "../access/questions.js";
import { decide, grants, trial } from "../access/reviews.js";
import { api } from "../lib/api.js";
import { failure } from "../lib/dialog.js";
import { meant, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { following } from "../lib/follow.js";
import { fullName } from "../lib/kinds.js";
import { panel, table } from "../lib/plain.js";
import { address, go, pathOf, remember } from "../lib/router.js";
import { recall } from "../lib/state.js";

const NAMESPACES = { group: "", version: "v1", resource: "namespaces", namespaced: false };

export default async function access({ tenant, query, root, signal }) {
  const [all, namespaces, follow] = await Promise.all([
    resources(tenant),
    namespacesOf(tenant),
    following(tenant, Object.values(KINDS), signal), // before it is asked who may
  ]);
  const page = new Page(tenant, all, signal, query);
  const give = h("span", { class: "change-bar" });
  const told = (subject) => go(`${pathOf("t", tenant, "access")}?${whatOf(subject)}`);
  const fill = async () => replace(give, await giveButton(tenant, namespaces, told));
  replace(
    root,
    h("div", { class: "toolbar" }, h("h1", {}, "Access"), give),
    h("div", { class: "columns" }, page.whoForm(namespaces), page.whatForm(namespaces)),
    page.result,
    page.tried,
  );
  await Promise.all([fill(), page.ask()]);
  await follow(() => page.ask());
}

/** What somebody may do, as the address asks it. */
function whatOf({ kind, name, namespace }) {
  return new URLSearchParams({ kind, subject: name, ...(namespace && { in: namespace }) });
}

async function namespacesOf(tenant) {
  try {
    const list = await api(tenant).list(NAMESPACES, { metadata: true, limit: 500 });
    return list.items.map((item) => item.metadata.name);
  } catch {
    return []; // who may not list them types their names
  }
}

/** What is asked stands in the address: either {verb, what, namespace, name} or {kind, subject, in,
 *  groups}. */
class Page {
  constructor(tenant, all, signal, query) {
    Object.assign(this, { tenant, all, signal });
    this.query = Object.fromEntries(query);
    /** What the sidebar has chosen; a question in the address that names none is about all. */
    this.namespace = this.query.namespace ?? (this.query.what ? "" : recall("namespace", ""));
    this.result = h("div", { id: "granted" });
    this.tried = h("div", { id: "tried" });
  }

  // --- forms --------------------------------------------------------------------------------------
  whoForm(namespaces) {
    const submit = (values) => this.change(this.meant(values));
    return panel(
      "Who may do this?",
      form(
        submit,
        "Who may?",
        input("verb", "Verb", this.query.verb ?? "get", VERBS),
        input("what", "Resource", this.query.what, this.names(), { example: "deployments, or a path" }),
        input("namespace", "Namespace", this.namespace, namespaces, { optional: "all" }),
        input("name", "Name", this.query.name, [], { optional: "any" }),
      ),
    );
  }

  whatForm(namespaces) {
    const { kind, subject, groups } = this.query;
    const kinds = choice("kind", "Kind", SUBJECTS, kind);
    const within = input("in", "Its namespace", this.query.in, namespaces);
    const groupsOf = input("groups", "In groups", groups, [], { optional: "none" });
    // a service account has a namespace, and its groups are known
    const fit = () => {
      const isAccount = kinds.querySelector("select").value === "ServiceAccount";
      for (const [part, isAsked] of [[within, isAccount], [groupsOf, !isAccount]]) {
        part.hidden = part.querySelector("input").disabled = !isAsked;
      }
    };
    kinds.addEventListener("change", fit);
    fit();
    const asks = (values) => this.change(values);
    const who = input("subject", "Name", subject, []);
    return panel("What may somebody do?", form(asks, "What may it do?", kinds, who, within, groupsOf));
  }

  names() {
    return this.all.map(fullName).sort();
  }

  /** What a form asks: "deploy/scale" → "deployments.apps/scale", what nobody knows stays as it is;
   *  what is of no namespace is asked about in none, whichever is preset, but a namespace itself,
   *  which the authorizer sees within itself. */
  meant(values) {
    const { what, namespace, ...more } = values;
    if (what.startsWith("/")) return { ...more, what };
    const [word, ...rest] = what.split("/");
    const [found] = meant(this.all, word);
    const isWithin = namespace && (found?.namespaced !== false || namespace === more.name);
    const within = isWithin ? { namespace } : {};
    return { ...more, ...within, what: [found ? fullName(found) : word, ...rest].join("/") };
  }

  change(query) {
    this.query = query;
    const names = ["verb", "what", "namespace", "name", "kind", "subject", "in", "groups"];
    remember(Object.fromEntries(names.map((name) => [name, query[name] ?? ""])));
    replace(this.tried);
    return this.ask();
  }

  // --- answers ------------------------------------------------------------------------------------
  async ask() {
    const { query } = this;
    try {
      const nodes = query.subject ? await this.what(query) : query.what && (await this.who(query));
      if (nodes && query === this.query) replace(this.result, nodes);
    } catch (error) {
      if (!this.signal.aborted) replace(this.result, failure(error));
    }
  }

  async who(query) {
    const { verb = "get" } = query;
    const status = await grants(this.tenant, question({ ...query, verb }), this.signal);
    const where = query.namespace ? ` in ${query.namespace}` : "";
    const title = `Who may ${verb} ${[query.what, query.name].filter(Boolean).join(" ")}${where}`;
    const columns = [
      ["Kind", (grant) => grant.subject.kind],
      ["Who", (grant) => subjectLink(this.tenant, subjectOf(grant.subject, grant.binding)), "name"],
      ...this.sources(),
      ["Where", (grant) => grant.binding.namespace ?? "the whole tenant"],
      ["Rule", (grant) => rule(grant), "wrap"],
    ];
    const none = "No rule that you may see allows it to anybody.";
    return panel(title, table(columns, status.grants ?? [], none), this.readToo(query), notes(status));
  }

  /** Whoever may list or watch objects reads them as well. */
  readToo({ verb = "get", what, name = "", namespace = "" }) {
    if (verb !== "get" || what.startsWith("/") || what.includes("/")) return null;
    const to = (other) => {
      const query = new URLSearchParams({ verb: other, what, namespace, name });
      return h("a", { href: `${address("t", this.tenant, "access")}?${query}` }, `${other} them`);
    };
    return h("p", { class: "muted" }, `Whoever may list or watch ${what} reads what is in them, too. Who may: `, to("list"), ", ", to("watch"), ".");
  }

  async what(query) {
    const subject = { kind: query.kind, name: query.subject, namespace: query.in };
    const spec = identity(subject, (query.groups ?? "").split(/[\s,]+/).filter(Boolean));
    const status = await grants(this.tenant, spec, this.signal);
    const places = new Map();
    for (const grant of status.grants ?? []) {
      const place = grant.binding.namespace ?? "";
      places.set(place, [...(places.get(place) ?? []), grant]);
    }
    const columns = [
      ...this.sources(),
      ["As", (grant) => `${grant.subject.kind} ${grant.subject.name}`, "name"],
      ["May", (grant) => ruleText(grant.rule).verbs],
      ["On", (grant) => cut(grant, ruleText(grant.rule).on), "wrap"],
    ];
    const part = ([place, found]) => [
      h("h3", {}, place ? `Namespace ${place}` : "The whole tenant"),
      table(columns, ownFirst(found, query)),
    ];
    const none = h("p", { class: "muted" }, "No binding that you may see gives it anything.");
    if (!this.tried.childElementCount) replace(this.tried, await this.trying(subject, spec));
    return panel(
      `What ${query.kind} ${named(subject)} may do`,
      places.size ? [...places].map(part) : none,
      notes(status),
    );
  }

  sources() {
    return [
      ["By binding", (grant) => sourceLink(this.tenant, grant.binding), "name"],
      ["Role", (grant) => sourceLink(this.tenant, grant.role), "name"],
    ];
  }

  // --- trying one out -----------------------------------------------------------------------------
  async trying(subject, spec) {
    const { kind, allowed, reason } = await trial(this.tenant);
    const said = h("div", { role: "status" });
    const ask = async (values) => {
      const asked = { ...spec, ...question(this.meant(values)) };
      try {
        replace(said, this.verdict(await decide(this.tenant, kind, asked, this.signal)));
      } catch (error) {
        replace(said, failure(error));
      }
    };
    const why = reason || "you may create no SubjectAccessReviews";
    return panel(
      `May ${named(subject)} do this?`,
      form(
        ask,
        "Try",
        input("verb", "Verb", "get", VERBS),
        input("what", "Resource or path", "", this.names()),
        input("namespace", "Namespace", this.namespace, [], { optional: "all" }),
        input("name", "Name", "", [], { optional: "any" }),
        allowed ? null : { disabled: true, title: why },
      ),
      allowed ? null : h("p", { class: "muted" }, `Not for you: ${why}.`),
      said,
    );
  }

  verdict(status) {
    const { allowed, reason, evaluationError, authorizer, grant, nearMisses = [] } = status;
    const by = (one) => [
      sourceLink(this.tenant, one.binding), " gives ", sourceLink(this.tenant, one.role),
      `, rule ${one.ruleIndex}: ${ruleText(one.rule).verbs} on ${ruleText(one.rule).on}`,
    ];
    return [
      h("p", {}, h("span", { class: `badge ${allowed ? "good" : "bad"}` }, allowed ? "yes" : "no"),
        " ", reason || (authorizer ? `decided by ${authorizer}` : "no rule allows it")),
      evaluationError ? h("p", { class: "warn" }, evaluationError) : null,
      grant ? h("p", {}, by(grant)) : null,
      nearMisses.length ? h("h3", {}, "Rules that come near") : null,
      h("ul", {}, nearMisses.map((miss) => (
        h("li", {}, by(miss), "; it lacks ", h("b", {}, miss.lacking.join(", ")))))),
    ];
  }
}

/** What names the subject, before what everybody has. */
function ownFirst(grants, { kind, subject: name }) {
  const rank = ({ subject }) => (subject.kind === kind && subject.name === name ? 0 : 1);
  return [...grants].sort((a, b) => rank(a) - rank(b));
}

// --- parts ----------------------------------------------------------------------------------------
function rule(grant) {
  const { verbs, on } = ruleText(grant.rule);
  return cut(grant, `${verbs} on ${on}`);
}

function cut(grant, text) {
  return h("span", { title: text }, text, grant.truncated ? " …" : "");
}

/** What the answer does not tell. */
function notes({ hidden = [], others = [], unresolved = [], incomplete }) {
  return [
    incomplete ? h("p", { class: "warn" }, "There is more than is shown here.") : null,
    hidden.length
      ? h("p", { class: "warn" }, `You may not read all ${hidden.join(", ")}: there may be more.`)
      : null,
    unresolved.map((text) => h("p", { class: "warn" }, text)),
    others.length
      ? h("div", { class: "muted" }, h("p", {}, "These are the rules of RBAC. Beside them:"),
        h("ul", {}, others.map((other) => h("li", {}, beside(other)))))
      : null,
  ];
}

/** What somebody may without a rule of RBAC. other: a group or role, or an authorizer's name. */
function beside(other) {
  if (other === "system:masters") return "members of the group system:masters may do everything";
  if (other === "polyplane:viewers") {
    return "console accounts with the role polyplane:viewers may read everything but Secrets";
  }
  if (other === "polyplane:editors") {
    return "console accounts with the role polyplane:editors may do what the ClusterRole edit allows, but for Secrets and tokens";
  }
  if (other === "polyplane:tenant-admins") {
    return "console accounts with the role polyplane:tenant-admins may create, change and delete tenants";
  }
  if (other === "node") return "the authorizer node allows kubelets what concerns their own nodes";
  return `the authorizer ${other} may allow more, which only a request shows`;
}

let lists = 0;

/** optional: what it means to leave the field empty, where that is allowed; example: of a value. */
function input(name, label, value = "", known = [], { optional = "", example = "" } = {}) {
  const list = known.length ? `known-${(lists += 1)}` : null;
  return h("label", { class: "field" }, label,
    h("input", { type: "text", name, value: value ?? "", required: !optional, placeholder: optional || example || null, list, autocomplete: "off" }),
    list ? h("datalist", { id: list }, known.map((one) => h("option", { value: one }))) : null);
}

function choice(name, label, values, chosen) {
  const option = (value) => h("option", { value, selected: value === chosen }, value);
  return h("label", { class: "field" }, label, h("select", { name }, values.map(option)));
}

/** The last part may be the attributes of the button. */
function form(run, action, ...parts) {
  const last = parts.at(-1);
  const fields = parts.filter((part) => part instanceof Node);
  const attributes = last instanceof Node ? {} : last;
  const submit = (event) => {
    event.preventDefault();
    const values = [...new FormData(event.target)].map(([name, value]) => [name, value.trim()]);
    run(Object.fromEntries(values.filter(([, value]) => value)));
  };
  const button = { type: "submit", class: "button primary", ...attributes };
  return h("form", { class: "asking", onsubmit: submit }, fields, h("button", button, action));
}
