/* What one can do after the server has refused an edit. */

import { h } from "../lib/dom.js";
import { address } from "../lib/router.js";
import { brief, field } from "./difference.js";
import { get } from "./paths.js";
import { settle } from "./rebase.js";
import { places } from "./refusals.js";
import { isSecret } from "./secrets.js";
import { Refusal } from "./session.js";

const TITLES = {
  conflict: "Others own some of these fields",
  stale: "It has changed since you opened it",
  gone: "It is not there any more",
  exists: "There is one of this name already",
  full: "A quota is used up",
  forbidden: "You may not do this",
  invalid: "The server does not take it",
  refused: "The server refused it",
};

/** The panel about a Refusal. bench: the Workbench; mine: the object that was refused. */
export function answers(bench, refusal, mine) {
  const ways = { conflict: conflict, stale: stale, full: full, invalid: invalid }[refusal.kind];
  return h("div", { class: `failure refusal ${refusal.kind}`, role: "alert" },
    h("h2", {}, TITLES[refusal.kind]),
    ways ? ways(bench, refusal, mine) : h("p", { class: "said" }, refusal.message));
}

/** Each field with who owns it, to be taken over or left. */
function conflict(bench, { fields }, mine) {
  const choices = new Choices(fields, () => {
    const left = fields.filter((f) => choices.get(f) === "leave");
    let object = mine;
    for (const { path } of left) object = bench.task.leave(object, path);
    if (left.length) bench.put(object);
    return bench.review(left.length < fields.length);
  });
  const rows = fields.map((f, at) => h("tr", {},
    h("td", {}, field(f.path)),
    h("td", {}, h("code", {}, brief(get(bench.shown(bench.task.live), f.path)))),
    h("td", {}, h("code", {}, brief(get(bench.shown(mine), f.path)))),
    h("td", {}, f.managers.map((m) => h("span", { class: "badge" }, named(m)))),
    h("td", {}, choices.offer(at, "take", "Take over"), " ", choices.offer(at, "leave", "Leave"))));
  const heads = ["Field", "Now", "Yours", "Owned by", ""].map((text) => h("th", {}, text));
  return [
    h("p", {}, "Taking a field over sets your value and makes it this manager's; leaving it drops your change of it. "
      + "Whoever applies a field that is taken over is told of the conflict next time, or sets it back by force."),
    h("table", { class: "conflicts" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
    choices.buttons([["take", "Take all over"], ["leave", "Leave all"]]),
  ];
}

function named({ manager, operation, subresource, apiVersion }) {
  const how = operation === "Apply" || !apiVersion ? "applied" : `updated, ${apiVersion}`;
  return `${manager} (${[how, subresource].filter(Boolean).join(", ")})`;
}

/** One choice for each of some things; none is made beforehand. Once all are made, and it has been
    said, `done` goes on; a single one goes on as it is made. */
class Choices {
  constructor(keys, done) {
    Object.assign(this, { keys, done });
    this.made = new Map();
    this.inputs = [];
  }

  get(key) {
    return this.made.get(key);
  }

  offer(at, value, text) {
    return this.keys.length > 1 ? this.radio(at, value, text) : this.only(value, text);
  }

  only(value, text) {
    const onclick = () => {
      this.made.set(this.keys[0], value);
      return this.done();
    };
    return h("button", { type: "button", class: "button", value, onclick }, text);
  }

  radio(at, value, text) {
    const input = h("input", { type: "radio", name: `choice-${at}`, value, onchange: () => {
      this.made.set(this.keys[at], value);
      this.ready();
    } });
    this.inputs.push(input);
    return h("label", { class: "choice" }, input, ` ${text}`);
  }

  all(value) {
    for (const input of this.inputs.filter((one) => one.value === value)) {
      input.checked = true;
      input.dispatchEvent(new Event("change"));
    }
  }

  /** values: [[value, text]] for a choice of all. */
  buttons(values) {
    if (this.keys.length === 1) return null;
    this.go = h("button", { type: "button", class: "button primary", id: "settle", disabled: true,
      onclick: this.done }, "Review with these choices");
    return h("div", { class: "buttons" }, this.go, values.map(([value, text]) => h("button",
      { type: "button", class: "button", onclick: () => this.all(value) }, text)));
  }

  ready() {
    this.go.disabled = this.made.size < this.keys.length;
  }
}

/** The three-way rebase. */
function stale(bench, _, mine) {
  const rebase = async () => {
    try {
      rebased(bench, await bench.task.rebase(mine));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      bench.say(answers(bench, error, mine));
    }
  };
  return [
    h("p", {}, "Somebody stored another version. Your changes can be put on top of it."),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "button primary", id: "rebase", onclick: rebase }, "Put mine on top of it")),
  ];
}

/** After a rebase: the new text, and, where both changed a field, whose value stays. */
export function rebased(bench, { object, conflicts }) {
  bench.put(object);
  if (!conflicts.length) {
    bench.say(h("div", { class: "panel rebased" },
      h("p", {}, "Your changes now stand on the version that is stored. Nothing was in the way.")));
    return;
  }
  const choices = new Choices(conflicts, () => {
    let settled = object;
    for (const c of conflicts) settled = settle(settled, c, choices.get(c));
    bench.put(settled);
    bench.say();
    return bench.review();
  });
  const hidden = isSecret(object);
  const rows = conflicts.map((c, at) => h("tr", {},
    h("td", {}, field(c.path)),
    ["base", "theirs", "mine"].map((which) => h("td", {}, h("code", {}, hidden && c[which] !== undefined ? "(hidden)" : brief(c[which])))),
    h("td", {}, choices.offer(at, "theirs", "Theirs"), " ", choices.offer(at, "mine", "Mine"))));
  const heads = ["Field", "When you opened it", "Theirs", "Yours", ""].map((text) => h("th", {}, text));
  bench.say(h("div", { class: "failure refusal rebased", role: "alert" },
    h("h2", {}, "Both of you changed these fields"),
    h("table", { class: "conflicts" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
    choices.buttons([["theirs", "All theirs"], ["mine", "All mine"]])));
}

/** Of the tenant or of one of its namespaces; the dry run stores nothing, and so fills none. */
function full({ task: { tenant } }, { message }) {
  const ofTenant = message.includes("exceeded quota: tenant ");
  const page = ofTenant ? address("tenants", tenant) : address("t", tenant, "core", "resourcequotas");
  const where = ofTenant ? `Tenant ${tenant}: its use and its quotas` : "The resource quotas of the tenant";
  return [h("p", { class: "said" }, message), h("p", {}, h("a", { href: page }, where))];
}

/** Every field that the server named, which leads to its line. */
function invalid(bench, { status, sent }, mine) {
  const found = places(status, mine);
  bench.source.accuse(found);
  return [
    h("ul", {}, found.map(({ path, text, message }) => h("li", {},
      h("button", { type: "button", class: "button quiet", onclick: () => bench.source.reveal(path) }, text),
      ` ${message}`))),
    sent && found.length ? null : h("p", { class: "said" }, status.message),
  ];
}
