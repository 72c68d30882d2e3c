// Every version with who and why; the difference of any two; the way back.

import { guarded } from "../../change/ui.js";
import { h, renew, replace } from "../../lib/dom.js";
import { failure, notify } from "../../lib/dialog.js";
import { address, remember } from "../../lib/router.js";
import { age } from "../../lib/time.js";
import { changesBetween } from "./changes.js";
import { fieldsBack } from "./putback.js";
import { restore, restored } from "./restore.js";
import { askedBefore, revisionsOf, whoOf, whyNoHistory } from "./revisions.js";

export default async function history({ subject, panel, query, page, signal }) {
  const why = await whyNoHistory(subject);
  if (why) {
    const gone = subject.object ? "" : "There is no such object now. ";
    panel.append(h("p", { class: "banner" }, `${gone}Its history is not for you: ${why}.`));
    return undefined;
  }
  const view = new View(subject, panel, page, signal);
  view.to = query.get("to") ?? "";
  view.from = query.get("from") ?? "";
  await view.load();
  return () => view.load();
}

class View {
  constructor(subject, panel, page, signal) {
    Object.assign(this, { subject, panel, page, signal });
    this.items = [];
    this.next = "";
    this.shownValues = false;
    this.body = h("tbody", {});
    this.foot = h("div", { class: "bar" });
    this.difference = h("section", { class: "difference", "aria-live": "polite" });
    const heads = [
      "From",
      "To",
      "Revision",
      "Change",
      "Verb",
      "Manager",
      "User",
      "When",
      "Note",
      "",
    ];
    panel.append(
      this.asOf(),
      h(
        "table",
        { class: "list revisions" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((text) => h("th", {}, text)),
          ),
        ),
        this.body,
      ),
      this.foot,
      this.difference,
    );
  }

  /** Newest first; what is there already stays. What is compared are the last two, unless somebody,
   *  or the address, has chosen others. */
  async load() {
    const newest = this.items[0]?.metadata.name;
    const follows = !this.to || (this.to === newest && this.from === this.before(newest));
    const page = await revisionsOf(this.subject, { signal: this.signal });
    const known = new Set(page.items.map((item) => item.metadata.name));
    const older = this.items.filter((item) => !known.has(item.metadata.name));
    if (!older.length) this.next = page.next;
    this.items = [...page.items, ...older];
    if (follows) {
      this.to = this.items[0]?.metadata.name ?? "";
      this.from = this.before(this.to);
    } else if (!this.from) this.from = await this.earlier(this.to);
    await this.rights();
    this.draw();
    await this.compare();
  }

  before(number) {
    return this.found(number)?.previous ?? "";
  }

  found(number) {
    return this.items.find((one) => one.metadata.name === number);
  }

  /** As `before`, also of one that is not among those that have been loaded. */
  async earlier(number) {
    if (this.found(number) || this.subject.isSecret) return this.before(number);
    return (await this.whole(number)).previous ?? "";
  }

  /** A choice of the reader's. What comes of it is what was done, not what would undo it: the other
   *  end makes way where it would be on the wrong side. */
  pick(end, number) {
    const names = this.items.map((one) => one.metadata.name); // the newest first
    this[end] = number;
    const isForwards = !names.includes(this.from) || names.indexOf(this.from) > names.indexOf(this.to);
    if (!isForwards && end === "from") this.to = names[Math.max(names.indexOf(number) - 1, 0)];
    if (this.from === this.to || (!isForwards && end === "to")) this.from = this.before(this.to);
    this.draw();
    const focused = `input[name=${end}][aria-label$=" ${number}"]`;
    this.body.querySelector(focused)?.focus();
    return this.compare();
  }

  async rights() {
    const deleted = !this.subject.object;
    const [how, verb] = deleted ? ["undelete", "create"] : ["rollback", "update"];
    const answers = await Promise.all([
      this.subject.canRevisions("create", how),
      this.subject.can(verb),
    ]);
    this.how = how;
    this.may = answers.find(({ allowed }) => !allowed) ?? answers[0];
  }

  draw() {
    if (!this.items.length) {
      replace(this.body, h("tr", {}, h("td", { colspan: "10" }, "Nothing of it is retained.")));
    } else {
      renew(
        this.body,
        this.items.map((item) => this.row(item)),
      );
      for (const name of ["from", "to"]) this.tick(name);
    }
    const more = () => this.more().catch((error) => this.foot.append(failure(error)));
    replace(
      this.foot,
      this.next &&
        h("button", { type: "button", class: "button", onclick: more }, "Older revisions"),
    );
  }

  /** The choice itself looks like no difference to `renew`. */
  tick(name) {
    const chosen = [...this.body.querySelectorAll(`input[name=${name}]`)];
    for (const input of chosen) input.checked = input.value === this[name];
  }

  async more() {
    const page = await revisionsOf(this.subject, { next: this.next, signal: this.signal });
    this.items.push(...page.items);
    this.next = page.next;
    this.draw();
  }

  row(item) {
    const number = item.metadata.name;
    const end = (name) =>
      h("input", {
        type: "radio",
        name,
        "aria-label": `${name} revision ${number}`,
        value: number,
        onchange: () => this.pick(name, number),
      });
    const current = this.subject.object?.metadata.resourceVersion === number;
    const asked = askedBefore(item);
    const note = item.restored
      ? `${item.verb} of ${item.restored}`
      : asked
        ? `asked for by ${whoOf(asked)} in ${asked.revision}`
        : (item.message ?? "");
    return h(
      "tr",
      { "data-revision": number },
      h("td", {}, end("from")),
      h("td", {}, end("to")),
      h("td", {}, this.link(number), current && h("span", { class: "badge" }, "now")),
      h("td", {}, h("span", { class: `badge t-${item.type.toLowerCase()}` }, item.type)),
      h("td", {}, item.verb ?? "", item.subresource && `/${item.subresource}`),
      h("td", {}, item.manager ?? ""),
      h("td", { title: item.request?.userAgent ?? "" }, whoOf(item)),
      h("td", {}, age(item.time), " ago"),
      h("td", {}, note),
      h("td", {}, current ? null : this.restoreButton(item)),
    );
  }

  link(number) {
    const show = () => this.page.show("yaml", { revision: number });
    return h("button", { type: "button", class: "link", onclick: show }, number);
  }

  restoreButton(item) {
    const label = this.how === "undelete" ? "Undelete" : "Restore";
    const act = async () => {
      const done = await restore(this.subject, item, this.how);
      if (done) notify(restored(this.subject, item, done));
    };
    return guarded(this.subject.tenant, label, this.may, { class: "restore", onclick: act });
  }

  async compare() {
    remember({ from: this.from, to: this.to });
    const { subject, from, to } = this;
    if (!to) return replace(this.difference);
    const title = h("h2", {}, from ? `From ${from} to ${to}` : `Revision ${to}, ${this.begun(to)}`);
    if (subject.isSecret && !this.shownValues) {
      const show = () => ((this.shownValues = true), this.compare());
      const button = h(
        "button",
        { type: "button", class: "button", id: "reveal-diff", onclick: show },
        "Reveal",
      );
      return replace(
        this.difference,
        title,
        h("p", {}, "Both revisions hold values of a Secret. ", button),
      );
    }
    try {
      const { signal } = this;
      const deleted = this.items.find((one) => one.metadata.name === to)?.type === "DELETED";
      const [before, after, back] = await Promise.all([
        from && this.object(from),
        this.object(to),
        deleted ? null : fieldsBack(subject, { from, to, signal }),
      ]);
      if (this.from !== from || this.to !== to || signal.aborted) return undefined;
      return renew(
        this.difference,
        title,
        changesBetween(before || null, deleted ? null : after),
        back,
      );
    } catch (error) {
      return this.signal.aborted ? undefined : replace(this.difference, title, failure(error));
    }
  }

  /** What a revision is before which there is none: an object may have been made more than once. */
  begun(number) {
    const made = this.items.some(({ metadata, type }) => metadata.name === number && type === "ADDED");
    return made ? "which made it" : "the first that is kept";
  }

  async object(number) {
    return (await this.whole(number)).object;
  }

  whole(number) {
    const { subject, signal } = this;
    const version = `?apiVersion=${encodeURIComponent(subject.apiVersion)}`;
    return subject.api.get(`${subject.revisions}/${number}${version}`, { exact: true, signal });
  }

  /** All of the namespace, as of a time. */
  asOf() {
    const { tenant, namespace, resource } = this.subject;
    const query = new URLSearchParams({
      namespace,
      resource: resource.resource,
      group: resource.group,
    });
    return h(
      "p",
      { class: "bar" },
      h(
        "a",
        { href: `${address("t", tenant, "past")}?${query}` },
        namespace ? "This namespace as of a time" : "All of the kind as of a time",
      ),
    );
  }
}
