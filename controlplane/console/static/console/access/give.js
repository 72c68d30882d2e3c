// Giving somebody a role, in the tenant or one of its namespaces: a binding, created as any object.

import { api } from "../lib/api.js";
import { failure, notify, open } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { button, field } from "../lib/plain.js";
import { JSON_TYPE } from "../change/requests.js";
import { guarded, manager, right, styled } from "../change/ui.js";
import { send } from "../change/wire.js";
import { bindingOf, KINDS, nameOf, SUBJECTS } from "./questions.js";

const ROLES = ["view", "edit", "admin"];
const MOST_NAMESPACES = 8; // that are asked about for the button

/** The button, disabled with the reason for who may create no binding; done: called with the subject
 *  {kind, name, namespace} when one has been created. */
export async function giveButton(tenant, namespaces, done) {
  const places = ["", ...namespaces.slice(0, MOST_NAMESPACES)];
  const answers = await Promise.all(places.map((namespace) => mayBind(tenant, namespace)));
  await styled();
  const answer = answers.find((one) => one.allowed) ?? answers[0];
  const chosen = places[answers.indexOf(answer)];
  const run = async () => {
    const subject = await dialog(tenant, namespaces, chosen);
    if (subject) done(subject);
  };
  return guarded(tenant, "Give access", answer, { class: "primary", id: "give", onclick: run });
}

function mayBind(tenant, namespace) {
  const resource = KINDS[namespace ? "RoleBinding" : "ClusterRoleBinding"];
  return right({ tenant, resource, namespace }, { verb: "create" });
}

function dialog(tenant, namespaces, chosen) {
  return open(`Give access in tenant ${tenant}`, (close) => new Form(tenant, namespaces, chosen, close).element);
}

class Form {
  constructor(tenant, namespaces, chosen, close) {
    Object.assign(this, { tenant, close });
    this.said = h("div", { role: "status" });
    this.account = field("Namespace of the service account", "in");
    this.name = field("Name of the binding", "name", { required: true, oninput: () => (this.own = true) });
    this.try = h("button", { type: "button", class: "button", id: "try-give", onclick: () => this.send(true) }, "Dry run");
    this.do = h("button", { type: "submit", class: "button primary" }, "Give access");
    const where = [["", "the whole tenant"], ...namespaces.map((name) => [name, `namespace ${name}`])];
    this.element = h(
      "form",
      { oninput: () => this.update(), onsubmit: (event) => (event.preventDefault(), this.send(false)) },
      h("label", { class: "field" }, "To", select("kind", SUBJECTS.map((kind) => [kind, kind]))),
      field("Name", "subject", { required: true, autofocus: true }),
      this.account,
      h("label", { class: "field" }, "Role", h("input", { type: "text", name: "role", value: "view", required: true, list: "roles", autocomplete: "off" }), this.roles()),
      h("label", { class: "field" }, "In", select("where", where, chosen)),
      this.name,
      this.said,
      h("footer", {}, button("Cancel", () => close()), this.try, this.do),
    );
    this.update();
  }

  roles() {
    const list = h("datalist", { id: "roles" }, ROLES.map((value) => h("option", { value })));
    const more = ({ items }) => items.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith("system:") && !ROLES.includes(name));
    api(this.tenant).list(KINDS.ClusterRole, { metadata: true, limit: 500 }).then(
      (found) => list.append(...more(found).map((value) => h("option", { value }))),
      () => {}, // who may not list them types the name
    );
    return list;
  }

  wanted() {
    const values = Object.fromEntries([...new FormData(this.element)].map(([name, value]) => [name, value.trim()]));
    const account = values.kind === "ServiceAccount";
    const subject = { kind: values.kind, name: values.subject, namespace: account ? values.in : "" };
    return { role: values.role, subject, namespace: values.where, name: values.name };
  }

  async update() {
    const wanted = this.wanted();
    this.account.hidden = wanted.subject.kind !== "ServiceAccount";
    if (!this.own) this.name.querySelector("input").value = wanted.subject.name ? nameOf(wanted) : "";
    const { allowed, reason } = await mayBind(this.tenant, wanted.namespace);
    if (wanted.namespace !== this.wanted().namespace) return;
    for (const button of [this.try, this.do]) button.disabled = !allowed;
    if (!allowed) replace(this.said, h("p", { class: "warn" }, reason || "You may not create bindings there."));
    else if (this.said.querySelector(".warn")) replace(this.said);
  }

  async send(dryRun) {
    if (!this.element.reportValidity()) return;
    const wanted = this.wanted();
    const body = bindingOf(wanted);
    const request = { method: "POST", type: JSON_TYPE, body };
    try {
      const at = { namespace: wanted.namespace };
      const { warnings } = await send(this.tenant, KINDS[body.kind], at, request, { dryRun, manager: manager() });
      warnings.forEach((text) => notify(text, { warning: true }));
      if (dryRun) return replace(this.said, h("p", { class: "good" }, `${body.kind} ${wanted.name} would be created.`));
      const place = wanted.namespace ? `namespace ${wanted.namespace} of` : "the whole of";
      notify(`${wanted.subject.name} has ${wanted.role} in ${place} tenant ${this.tenant}.`);
      this.close(wanted.subject);
    } catch (error) {
      replace(this.said, failure(error));
    }
    return undefined;
  }
}

function select(name, choices, chosen = "") {
  return h("select", { name }, choices.map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
}
