// Beside each line: who gave the field its value, in which revision, and whom an apply would meet.

import { blamed, conflictsOf, managersOf, managerTitle } from "../../lib/blame.js";
import { h, renew, replace } from "../../lib/dom.js";
import { fieldsOfManaged } from "../../lib/managedfields.js";
import { age } from "../../lib/time.js";
import { many } from "../../lib/units.js";
import { Lines, shown } from "./lines.js";

const COLOURS = 8;

export default async function blame({ subject, panel, query, page, signal }) {
  const view = new View(subject, panel, page, signal);
  view.revision = subject.isSecret ? null : query.get("revision"); // one of those has its values
  await view.load();
  return () => !view.revision && view.load();
}

class View {
  constructor(subject, panel, page, signal) {
    Object.assign(this, { subject, panel, page, signal });
    this.fields = []; // until they are there
    this.of = () => null;
    this.only = ""; // the title of a manager
    this.applier = "";
    this.opened = new Set(); // paths of fields whose other owners are shown
    this.bar = this.makeBar();
    this.note = h("p", { class: "muted" });
    this.code = h("div", { class: "code blame", role: "region", tabindex: "0", "aria-label": "Blame" });
    this.lines = new Lines(this.code, {
      hidden: subject.hides,
      heads: () => heads(),
      gutter: (line, at, all) => this.gutter(line, at, all),
      look: (line) => this.look(line),
      behind: (line, at, all) => [this.alsoOwned(line, at, all), this.met(line)],
    });
    panel.append(this.bar, this.note, this.code);
  }

  async load() {
    const { subject } = this;
    const object = this.revision ? (await this.past()).object : subject.object;
    if (!object) {
      replace(this.note, "There is no such object now; History has what it was, if it was.");
      return;
    }
    const answer = await this.asked(object.metadata.resourceVersion);
    if (this.signal.aborted) return;
    this.fields = answer?.fields ?? fieldsOfManaged(object.metadata.managedFields ?? []);
    this.of = blamed(object, this.fields);
    this.managers = managersOf(this.fields);
    this.colours = new Map(this.managers.map(({ title }, at) => [title, at % COLOURS]));
    this.drawBar();
    replace(this.note, this.told(answer));
    this.lines.draw(shown(object), { fresh: true });
  }

  past() {
    const { subject, signal } = this;
    return subject.api.get(`${subject.revisions}/${this.revision}`, { exact: true, signal });
  }

  /** A RevisionBlame, or null for who may not have one. */
  async asked(version) {
    const { subject } = this;
    const may = await Promise.all([subject.canRevisions("get", "blame"), subject.can("get")]);
    if (!may.every(({ allowed }) => allowed)) return null;
    const { apiVersion } = subject;
    const path = `${subject.revisions}/${version}/blame?apiVersion=${encodeURIComponent(apiVersion)}`;
    return subject.api.get(path, { signal: this.signal });
  }

  told(answer) {
    if (!answer) {
      const what = `${this.subject.revisionsResource}/blame of history.polyplane.dev`;
      return `You may not get ${what}: this is what managedFields say, without users and revisions.`;
    }
    return answer.complete ? "" : `Incomplete: ${answer.message}.`;
  }

  /** What stands above the lines; drawBar fills it, and leaves alone what somebody is typing in. */
  makeBar() {
    this.select = h("select", {
      id: "manager",
      onchange: () => ((this.only = this.select.value), this.lines.redraw()),
    });
    const input = h("input", {
      type: "text",
      id: "applier",
      list: "appliers",
      placeholder: "field manager",
      oninput: () => ((this.applier = input.value.trim()), this.lines.redraw(), this.count()),
    });
    this.appliers = h("datalist", { id: "appliers" });
    this.counted = h("output", { class: "muted" });
    this.legend = h("span", { class: "legend" });
    return h(
      "div",
      { class: "bar" },
      h("label", {}, "Show ", this.select),
      h("label", {}, "Conflicts of an apply by ", input),
      this.appliers,
      this.counted,
      h("span", { class: "gap" }),
      this.legend,
    );
  }

  drawBar() {
    const option = ({ title, count }) => h("option", { value: title }, `${title} · ${count}`);
    renew(this.select, h("option", { value: "" }, "all managers"), this.managers.map(option));
    this.select.value = this.only;
    const names = [...new Set(this.managers.map(({ manager }) => manager))];
    renew(
      this.appliers,
      names.map((name) => h("option", { value: name })),
    );
    renew(
      this.legend,
      this.managers.slice(0, COLOURS).map((one) => this.chip(one)),
      this.managers.length > COLOURS &&
        h("span", { class: "muted" }, `and ${this.managers.length - COLOURS} more`),
      this.fields.some((field) => !ownerOf(field)) &&
        h("span", { class: "manager none" }, "server: owned by nobody, as defaults are"),
    );
    this.count();
  }

  count() {
    if (!this.applier) replace(this.counted);
    else {
      const met = this.fields.filter((field) => conflictsOf(field, this.applier).length).length;
      replace(
        this.counted,
        `would conflict at ${met} of ${this.fields.length} fields, if it changes them`,
      );
    }
  }

  chip(manager) {
    const title = managerTitle(manager);
    return h("span", { class: `manager m${this.colours.get(title) ?? 0}`, title }, title);
  }

  gutter(line, at, all) {
    const field = this.of(line.path);
    return h(
      "span",
      { class: "gutter", title: field ? hover(field) : "" },
      this.begins(line, at, all) && this.cells(field),
    );
  }

  /** Whether the blame of the line is another than that of the line above. */
  begins(line, at, all) {
    const field = this.of(line.path);
    const above = at > 0 ? this.of(all[at - 1].path) : null;
    return Boolean(field) && !(above && sameBlame(field, above));
  }

  cells(field) {
    const owner = ownerOf(field);
    return [
      owner ? this.chip(owner) : h("span", { class: "manager none" }, "server"),
      this.othersButton(field),
      h("span", { class: "who" }, field.username ?? ""),
      h("span", { class: "when" }, field.time ? age(field.time) : ""),
      field.revision &&
        h(
          "button",
          {
            type: "button",
            class: "revision",
            onclick: () => this.page.show("history", { to: field.revision, from: "" }),
          },
          field.revision,
        ),
    ];
  }

  /** Of a field that several own: how many more there are, which shows them behind the line. */
  othersButton(field) {
    const others = othersOf(field);
    if (!others.length) return null;
    const expanded = this.opened.has(field.path);
    const onclick = () => {
      if (!this.opened.delete(field.path)) this.opened.add(field.path);
      this.lines.redraw();
      const own = [...this.code.querySelectorAll(".others")]; // the line is another element now
      own.find((one) => one.dataset.path === field.path)?.focus();
    };
    const label = `${many(others.length, "more owner")}: ${titles(others)}`;
    return h(
      "button",
      {
        type: "button",
        class: "others",
        "data-path": field.path,
        "aria-expanded": String(expanded),
        "aria-label": label,
        title: label,
        onclick,
      },
      `+${others.length}`,
    );
  }

  alsoOwned(line, at, all) {
    const field = this.of(line.path);
    if (!field || !this.opened.has(field.path) || !this.begins(line, at, all)) return null;
    const owners = othersOf(field).map((owner) => [" ", this.chip(owner)]);
    return h("span", { class: "also" }, "also owned by", owners);
  }

  /** Whom an apply that changes the line would meet. */
  met(line) {
    const met = this.applier ? conflictsOf(this.of(line.path), this.applier) : [];
    return met.length ? h("span", { class: "met" }, `⚠ ${titles(met)}`) : null;
  }

  look(line) {
    const field = this.of(line.path);
    const owners = field?.owners ?? [];
    const theirs = !this.only || owners.some((owner) => managerTitle(owner) === this.only);
    const colour =
      field && this.colours.get(managerTitle(field.manager ? field : (owners[0] ?? {})));
    return [
      !theirs && "faint",
      colour !== undefined && colour !== null && `b${colour}`,
      this.applier && conflictsOf(field, this.applier).length && "conflicts",
    ];
  }
}

/** What stands above the cells of the gutter. */
function heads() {
  const cells = [["manager", "Manager"], ["who", "User"], ["when", "Age"], ["revision", "Revision"]];
  return h(
    "div",
    { class: "heads" },
    h("span", { class: "gutter" }, cells.map(([look, title]) => h("span", { class: look }, title))),
  );
}

/** Who gave the value, else the first of those who own the field; nobody's is the server's. */
function ownerOf(field) {
  return field.manager ? field : field.owners?.[0];
}

/** Those who own it beside the one that is shown. */
function othersOf(field) {
  const shownTitle = managerTitle(ownerOf(field) ?? {});
  return (field.owners ?? []).filter((owner) => managerTitle(owner) !== shownTitle);
}

function sameBlame(a, b) {
  const told = ({ revision, manager, operation, subresource, owners }) =>
    JSON.stringify([revision, manager, operation, subresource, titles(owners ?? [])]);
  return told(a) === told(b);
}

function titles(owners) {
  return owners.map(managerTitle).join(", ");
}

function hover(field) {
  const lines = [field.path];
  if (field.revision) lines.push(`value since revision ${field.revision}, ${field.time}`);
  if (field.username) lines.push(`by user ${field.username}`);
  for (const owner of field.owners ?? []) {
    const since = owner.since ? ` since revision ${owner.since}` : "";
    lines.push(`owned by ${managerTitle(owner)}${since}`);
  }
  return lines.join("\n");
}
