/* The page on which an object is written: edit, review, store. */

import { h, replace } from "../lib/dom.js";
import { failure, notify } from "../lib/dialog.js";
import { isAway } from "../lib/outage.js";
import { go } from "../lib/router.js";
import { hold } from "../lib/unsaved.js";
import { brief, differenceOf, field } from "./difference.js";
import { editor } from "./editor.js";
import { isMap } from "./exact.js";
import { answers } from "./answers.js";
import { isSecret, mask, unmask } from "./secrets.js";
import { editable } from "./configuration.js";
import { get, show } from "./paths.js";
import { typeName } from "./schema.js";
import { Refusal } from "./session.js";
import { print, read } from "./text.js";
import { manager, rememberManager } from "./ui.js";

const UNANSWERED = "The server has not answered. What you have written is still here: review it again, which "
  + "also shows what of it is stored already.";

export class Workbench {
  /** task: an Edit or a Creation; options: {title, text, back, stored(answer), verb, controls, said,
      signal}. back: the address to return to; controls: further nodes of the head; said: of the text,
      above it for as long as it is there; signal: until when it is shown. */
  constructor(root, task, options) {
    Object.assign(this, { root, task, ...options });
    this.notice = h("div", { class: "notices-here", "aria-live": "polite" });
    this.stage = h("div", { class: "stage" });
    this.head = h("div", { class: "change-head" });
    this.help = h("aside", { class: "panel field-panel", "aria-label": "About the field" });
    this.name = h("input", { type: "text", value: manager(), spellcheck: "false", size: "18",
      "aria-label": "Field manager", onchange: () => rememberManager(this.name.value) });
    this.source = this.edit(options.text);
    this.isStored = false;
    hold("What you have written is not stored.",
      () => !this.isStored && this.source.text() !== options.text, options.signal);
    this.about([], undefined);
    root.classList.add("change");
    const said = options.said && h("p", { class: "banner" }, options.said);
    replace(root, this.head, said, this.notice, this.stage);
    this.write();
  }

  edit(text) {
    return editor(text, this.task, {
      at: (path, node) => this.about(path, node),
      submit: () => this.review(),
    });
  }

  /** The text as an object, with hidden values in their places; undefined, and said, where it is
      none. */
  object() {
    const { value, problems } = read(this.source.text());
    if (value !== undefined && isMap(value)) {
      return this.task.live ? unmask(value, this.task.live) : value;
    }
    const [{ message, from } = { message: "an object is wanted", from: 0 }] = problems;
    const line = this.source.text().slice(0, from).split("\n").length;
    this.say(h("div", { class: "failure", role: "alert" }, h("p", {}, `Line ${line}: ${message}`)));
    return undefined;
  }

  put(object) {
    this.source.put(print(this.task.live ? this.shown(object) : object));
  }

  /** What of an object may be shown. */
  shown(object) {
    return mask(object, this.task.live ?? {});
  }

  say(...nodes) {
    replace(this.notice, nodes);
    if (nodes.length) this.notice.scrollIntoView({ block: "nearest" });
  }

  /** The editor. */
  write() {
    this.reviewed = undefined;
    replace(this.head, h("h1", {}, this.title), h("span", { class: "grow" }), this.controls ?? [],
      h("label", { class: "manager" }, "as manager ", this.name),
      h("a", { class: "button", href: this.back }, "Cancel"),
      h("button", { type: "button", class: "button primary", id: "review", title: "Ctrl-Enter",
        onclick: () => this.review() }, "Review"));
    replace(this.stage, this.source.element, this.help);
    this.stage.className = "stage writing";
    this.source.view.focus();
  }

  about(path, node) {
    replace(this.help, h("h2", {}, path.length ? show(path) : "Field"),
      node ? h("p", { class: "muted" }, typeName(node)) : null,
      h("p", { class: "description" }, node?.description
        ?? (path.length ? "The schema says nothing of it." : "Move to a field to read about it.")),
      node?.enum ? h("p", {}, "One of: ", node.enum.map((v) => [h("code", {}, String(v)), " "])) : null,
      h("p", { class: "muted keys-line" }, h("kbd", {}, "Ctrl-Space"), " completes, ",
        h("kbd", {}, "Ctrl-Enter"), " reviews"));
  }

  /** The server's dry run, and what comes of it. */
  async review(takeOver = false) {
    const mine = this.object();
    if (mine === undefined || this.busy) return;
    this.busy = true;
    this.say();
    try {
      const review = await this.task.review(mine, this.name.value, takeOver);
      if (review) this.compare(review);
      else this.say(h("div", { class: "panel" }, "Nothing differs from what is stored."));
    } catch (error) {
      this.refused(error, mine);
    } finally {
      this.busy = false;
    }
  }

  /** What the server would store, beside what it has. */
  compare(review) {
    this.reviewed = review;
    const { live } = this.task;
    const status = { status: this.task.status };
    const after = editable(review.answer, status);
    replace(this.head, h("h1", {}, this.title), h("span", { class: "grow" }),
      h("button", { type: "button", class: "button", onclick: () => this.write() }, "Back to editing"),
      h("button", { type: "button", class: "button primary", id: "store", onclick: () => this.store() },
        this.verb));
    replace(this.stage, this.summary(review),
      differenceOf(live && this.task.base, after, review.imposed, (o) => this.shown(o)));
    this.stage.className = "stage comparing";
    this.head.querySelector("#store").focus();
  }

  summary({ request, manager: name, force, imposed, beyond, warnings, answer }) {
    const value = ({ path, after }) => brief(isSecret(answer) ? get(this.shown(answer), path) : after);
    const how = { PATCH: "applied", PUT: "sent as an update", POST: "created" }[request.method];
    return h("div", { class: "panel summary" },
      h("p", {}, "The server has tried it: it would be ", how, " by manager ", h("code", {}, name),
        force ? ", which takes fields over" : "", "."),
      beyond.length ? h("p", {}, "As an update, because apply cannot remove or reorder what others "
        + "own or nobody applied: ", listed(beyond)) : null,
      imposed.length ? h("details", { open: imposed.length < 6 },
        h("summary", {}, `${imposed.length} ${imposed.length === 1 ? "field" : "fields"} put in or changed by the server `,
          h("span", { class: "muted" }, "(defaults and admission)")),
        h("ul", {}, imposed.map((c) => h("li", {}, field(c.path), " ", c.kind === "removed"
          ? "taken out" : h("code", {}, value(c)))))) : null,
      warnings.map((text) => h("p", { class: "warn" }, `Warning: ${text}`)));
  }

  async store() {
    if (this.busy) return;
    this.busy = true;
    try {
      const { answer, warnings } = await this.task.store(this.reviewed);
      this.isStored = true;
      rememberManager(this.name.value);
      warnings.forEach((text) => notify(text, { warning: true }));
      notify(`${answer.kind} ${answer.metadata.name} is stored`);
      go(this.stored(answer));
    } catch (error) {
      const mine = this.object();
      this.write();
      this.refused(error, mine);
    } finally {
      this.busy = false;
    }
  }

  refused(error, mine) {
    if (error instanceof Refusal) this.say(answers(this, error, mine));
    else {
      this.say(failure(isAway() ? new Error(UNANSWERED) : error));
      if (!isAway()) throw error;
    }
  }
}

function listed(list) {
  return list.map(({ path }, at) => [at ? ", " : "", field(path)]);
}
