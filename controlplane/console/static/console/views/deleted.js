// What was deleted, by whom and when, with the way back for those who may go it.

import { guarded, right, styled as changeStyled } from "../change/ui.js";
import { failure, notify } from "../lib/dialog.js";
import { groupPart, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { fullName } from "../lib/kinds.js";
import { button, table } from "../lib/plain.js";
import { address } from "../lib/router.js";
import { Subject } from "../lib/subject.js";
import { age } from "../lib/time.js";
import { many } from "../lib/units.js";
import { restore, restored } from "./object/restore.js";
import { askedBefore, whoOf } from "./object/revisions.js";
import { styled } from "./object/style.js";
import * as asking from "./past/asking.js";
import { Deletions } from "./past/deletions.js";

const UNTOLD = "Who has deleted something is shown to those who may get revisions/audit.";

export default async function deleted(context) {
  const [all] = await Promise.all([resources(context.tenant), styled(), changeStyled()]);
  await new Deleted(context, all).begin();
}

class Deleted {
  constructor({ tenant, query, root, signal }, all) {
    Object.assign(this, { tenant, query, root, all });
    this.turns = new asking.Turns(signal);
    this.back = new Set(); // objects that were undeleted here
    this.said = h("p", { class: "muted", role: "status" });
    this.left = h("div", {});
    this.found = h("section", { class: "panel", "aria-label": "What was deleted" });
    this.foot = h("div", { class: "bar" });
  }

  async begin() {
    const { tenant, query, root, all } = this;
    this.form = await asking.askingForm({ tenant, query, all, ask: () => this.ask() });
    root.classList.add("object");
    root.append(
      ...asking.heading(tenant, "deleted", "Deleted objects"),
      this.form,
      this.said,
      this.left,
      this.found,
      this.foot,
    );
    await this.ask();
  }

  async ask() {
    const signal = this.turns.next();
    const asked = asking.askedBy(this.form);
    this.rights = new Map(); // kind and namespace -> promise of whether one may undelete there
    replace(this.said, "Looking…");
    replace(this.foot);
    try {
      const { lists, refused } = await asking.listsOf(this.tenant, this.all, asked);
      const told = await this.isToldWho(lists);
      if (signal.aborted) return;
      replace(this.left, asking.leftOut(refused), told ? null : h("p", { class: "muted" }, UNTOLD));
      replace(this.found);
      const draw = () => this.draw(asked);
      this.deletions = new Deletions(this.tenant, lists, asked.kind, signal, draw);
      if (lists.length) await this.look(signal);
      else replace(this.said);
    } catch (error) {
      if (signal.aborted) return;
      replace(this.said);
      replace(this.found, failure(error));
    }
  }

  async isToldWho(lists) {
    const question = { verb: "get", subresource: "audit" };
    const answers = await Promise.all(
      lists.map((list) => right({ tenant: this.tenant, ...list }, question)),
    );
    return answers.every(({ allowed }) => allowed);
  }

  async look(signal) {
    replace(this.foot);
    await this.deletions.look();
    if (signal.aborted) return;
    const { open, items, events } = this.deletions;
    replace(
      this.said,
      many(items.length, "deletion"),
      events ? `, without ${many(events, "Event")} that ended (choose the kind events)` : "",
      open.length ? "; the log goes further back." : ": all that the log keeps.",
    );
    replace(this.foot, open.length ? button("Look further back", () => this.goOn(signal)) : null);
  }

  async goOn(signal) {
    try {
      await this.look(signal);
      this.foot.querySelector("button")?.focus();
    } catch (error) {
      if (!signal.aborted) replace(this.foot, failure(error));
    }
  }

  // --- rows --------------------------------------------------------------------------------------
  draw({ namespace }) {
    const where = ["Namespace", ({ objectRef }) => objectRef.namespace ?? ""];
    const columns = [
      ["Object", (item) => this.link(item), "name"],
      ...(namespace ? [] : [where]),
      ["Deleted", (item) => [age(item.time), " ago"]],
      ["By", by],
      ["How", (item) => how(askedBefore(item) ?? item)],
      ["Revision", ({ metadata }) => metadata.name],
      ["", (item) => this.wayBack(item)],
    ];
    this.places = []; // [object, element] of each row: where its way back stands
    replace(this.found, table(columns, this.deletions.items, "Nothing that was deleted is found."));
  }

  resourceOf(item) {
    return this.all.find((one) => fullName(one) === item.resource) ?? null;
  }

  /** To the object's history; where its definition is gone there is no page of it. */
  link(item) {
    const { kind, name } = item.objectRef;
    const text = [h("b", {}, kind ?? item.resource), ` ${name}`];
    const resource = this.resourceOf(item);
    return resource ? h("a", { href: this.historyOf(resource, item) }, text) : text;
  }

  historyOf(resource, { objectRef: { namespace, name } }) {
    const place = [groupPart(resource), resource.resource, namespace || "-", name];
    return `${address("t", this.tenant, ...place)}?tab=history`;
  }

  // --- the way back ------------------------------------------------------------------------------
  wayBack(item) {
    const resource = this.resourceOf(item);
    if (!resource) return h("span", { class: "muted" }, "its definition is gone");
    const element = h("span", {});
    this.places.push([nameOf(item), element]);
    if (item.present || this.back.has(nameOf(item)))
      replace(element, this.isBack(resource, item));
    else this.offer(resource, item, element);
    return element;
  }

  async offer(resource, item, element) {
    const answer = await this.mayUndelete(resource, item.objectRef.namespace ?? "");
    if (this.back.has(nameOf(item))) return;
    const onclick = () => this.undelete(resource, item);
    replace(element, guarded(this.tenant, "Undelete", answer, { class: "restore", onclick }));
  }

  /** What is missing, or that one may; where that cannot be found out the server decides. */
  mayUndelete(resource, namespace) {
    const key = `${fullName(resource)}\0${namespace}`;
    if (!this.rights.has(key)) {
      const revisions = resource.namespaced ? asking.REVISIONS : asking.OF_CLUSTER;
      const { tenant } = this;
      const may = (of, question) => right({ tenant, resource: of, namespace }, question);
      const answer = Promise.all([
        may(revisions, { verb: "create", subresource: "undelete" }),
        may(resource, { verb: "get" }),
        may(resource, { verb: "create" }),
      ]).then(
        (answers) => answers.find(({ allowed }) => !allowed) ?? answers[0],
        () => ({ allowed: true }),
      );
      this.rights.set(key, answer);
    }
    return this.rights.get(key);
  }

  async undelete(resource, item) {
    const { namespace = "", name } = item.objectRef;
    const subject = new Subject(this.tenant, resource, namespace, name);
    const done = await restore(subject, item, "undelete");
    if (!done) return;
    notify(restored(subject, item, done));
    this.back.add(nameOf(item));
    const own = this.places.filter(([object]) => object === nameOf(item));
    for (const [, element] of own) replace(element, this.isBack(resource, item));
    own[0]?.[1].querySelector("a").focus();
  }

  isBack(resource, item) {
    return h("a", { href: this.historyOf(resource, item) }, "is back");
  }
}

/** Who asked for it, and below who finished it where that was somebody else. */
function by(item) {
  const asked = askedBefore(item);
  if (!asked) return whoOf(item);
  const title = `${how(item)}, ${item.time}; asked for in revision ${asked.revision}, ${asked.time}`;
  return [whoOf(asked), h("div", { class: "muted", title }, "finished by ", whoOf(item))];
}

function how({ verb = "", manager }) {
  return manager ? `${verb} (${manager})` : verb;
}

function nameOf({ resource, objectRef: { namespace = "", name } }) {
  return [resource, namespace, name].join("/");
}
