// What there was as of a moment: of a namespace, of what is in none, or of the whole tenant.

import { failure } from "../lib/dialog.js";
import { groupPart, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { fullName } from "../lib/kinds.js";
import { EXAMPLES, instantOf } from "../lib/instants.js";
import { CHOICES, isVersion, momentOf, told } from "../lib/moments.js";
import { button, table } from "../lib/plain.js";
import { address } from "../lib/router.js";
import { age } from "../lib/time.js";
import { number } from "../lib/units.js";
import { styled } from "./object/style.js";
import { askedBy, askingForm, field, heading, leftOut, listsOf, Turns } from "./past/asking.js";
import * as reach from "./past/reach.js";
import { State } from "./past/state.js";

const EXAMPLE = `${EXAMPLES}, or a resourceVersion; empty: the present.`;

export default async function past(context) {
  const [all] = await Promise.all([resources(context.tenant), styled()]);
  await new Past(context, all).begin();
}

class Past {
  constructor({ tenant, query, root, signal }, all) {
    Object.assign(this, { tenant, query, root, all });
    this.turns = new Turns(signal);
    this.chosen = { words: "now", at: "" }; // the choice that was pressed last
    this.said = h("p", { class: "muted", role: "status" });
    this.left = h("div", {});
    this.reach = reach.line();
    this.found = h("section", { class: "panel", "aria-label": "What there was" });
    this.foot = h("div", { class: "bar" });
  }

  async begin() {
    const { tenant, query, root, all } = this;
    this.at = field("As of", "at", query.get("at") ?? "", {
      size: "24",
      placeholder: "now, 10m, 14:05",
      title: EXAMPLE,
    });
    const labels = field("Labels", "labels", query.get("labels") ?? "");
    const ask = () => this.ask();
    this.form = await askingForm({ tenant, query, all, ask }, this.at, labels);
    root.classList.add("object");
    root.append(
      ...heading(tenant, "past", "The past"),
      this.choices(),
      this.reach,
      this.form,
      this.said,
      this.left,
      this.found,
      this.foot,
    );
    await this.ask();
  }

  // --- which moment -----------------------------------------------------------------------------
  choices() {
    const choice = ([words, ago]) => button(words, () => this.choose(words, ago));
    this.buttons = new Map(CHOICES.map((one) => [one[0], choice(one)]));
    const group = { class: "bar", role: "group", "aria-label": "As of" };
    return h("div", group, [...this.buttons.values()]);
  }

  choose(words, ago) {
    this.chosen = { words, at: momentOf(ago) };
    return this.go(this.chosen.at);
  }

  go(at) {
    this.at.querySelector("input").value = at;
    return this.ask();
  }

  /** The choice that is shown is pressed; none for any other moment. */
  press(at) {
    const words = at === this.chosen.at ? this.chosen.words : at ? "" : "now";
    for (const [one, element] of this.buttons) {
      element.setAttribute("aria-pressed", String(one === words));
    }
  }

  // --- what there was ---------------------------------------------------------------------------
  async ask() {
    const signal = this.turns.next();
    const isMoment = this.understand();
    const asked = askedBy(this.form);
    this.press(asked.at);
    if (!isMoment) return this.doubt(asked.at);
    replace(this.said, "Asking…");
    replace(this.foot);
    try {
      const { lists, refused } = await listsOf(this.tenant, this.all, asked);
      if (signal.aborted) return;
      replace(this.left, leftOut(refused));
      await this.tellReach(signal);
      if (lists.length) await this.look(new State(this.tenant, lists, asked, signal));
      else [this.said, this.found].forEach((element) => replace(element));
    } catch (error) {
      if (signal.aborted) return;
      replace(this.said);
      replace(this.found, failure(error));
    }
  }

  /** What was typed becomes a moment as the API takes it; false where it means none. */
  understand() {
    const input = this.at.querySelector("input");
    const typed = input.value.trim();
    if (!typed || isVersion(typed)) return true;
    const at = instantOf(typed);
    if (at) input.value = at;
    return Boolean(at);
  }

  doubt(typed) {
    [this.said, this.foot].forEach((element) => replace(element));
    replace(this.found, failure(new Error(`${typed} is no time: write ${EXAMPLES}, or a resourceVersion.`)));
  }

  /** It moves on: superseded versions go. */
  async tellReach(signal) {
    this.begins = await reach.beginningOf(this.tenant, signal);
    replace(this.reach, reach.told(this.begins, (at) => this.go(at)));
  }

  async look(state) {
    replace(this.foot);
    try {
      await state.look();
      if (!state.signal.aborted) this.draw(state);
    } catch (error) {
      if (error.code !== 410) throw error;
      await this.tellReach(state.signal);
      this.tooFar(state);
    }
  }

  async goOn(state) {
    try {
      await this.look(state);
      this.foot.querySelector("button")?.focus();
    } catch (error) {
      if (!state.signal.aborted) replace(this.foot, failure(error));
    }
  }

  draw(state) {
    const { found, more, asked } = state;
    replace(this.said, summary(state));
    replace(this.found, table(this.columns(asked), found, "There was nothing."));
    replace(this.foot, more ? button("More", () => this.goOn(state)) : null);
  }

  columns({ namespace }) {
    const where = ["Namespace", ({ metadata }) => metadata.namespace ?? ""];
    return [
      ["Object", (row) => this.link(row), "name"],
      ...(namespace ? [] : [where]),
      ["Revision", ({ metadata }) => metadata.name],
      ["Last change before", ({ metadata }) => [age(metadata.creationTimestamp), " ago"]],
      ["Manager", (row) => row.Manager],
      ["User", (row) => row.User],
      ["Verb", (row) => row.Verb],
    ];
  }

  /** To the object as it was; where its definition is gone there is no page of it. */
  link({ Object: object, metadata }) {
    const at = object.indexOf("/");
    const [what, name] = [object.slice(0, at), object.slice(at + 1)];
    const resource = this.all.find((one) => fullName(one) === what);
    const text = [h("b", {}, resource?.kind ?? what), ` ${name}`];
    if (!resource) return text;
    const place = [groupPart(resource), resource.resource, metadata.namespace || "-", name];
    const to = address("t", this.tenant, ...place);
    return h("a", { href: `${to}?revision=${metadata.name}` }, text);
  }

  // --- before the log ---------------------------------------------------------------------------
  /** Says that the log does not reach back so far, and to which of the choices it does. */
  tooFar(state) {
    const at = state.asked.at || state.version;
    const furthest = reach.furthest(this.begins);
    const again = ([words, ago]) => button(words, () => this.choose(words, ago));
    if (!state.found.length) replace(this.said);
    replace(
      state.found.length ? this.foot : this.found, // what is shown already stays
      h(
        "p",
        { class: "banner", role: "status" },
        ["Nothing can be shown as of ", told(at), ": the log that is kept of tenant "],
        [this.tenant, " begins later. "],
        furthest && ["It reaches back to what there was ", again(furthest)],
        furthest || this.begins === null
          ? ""
          : "Of the moments above it reaches back to none but now.",
      ),
    );
  }
}

/** "100+ objects as of 5m ago (resourceVersion 214)". */
function summary({ found, more, version, asked: { at } }) {
  const { length } = found;
  const objects = `${number(length)}${more ? "+" : ""} ${length === 1 ? "object" : "objects"}`;
  return [objects, " as of ", told(at), isVersion(at) ? "" : ` (resourceVersion ${version})`];
}
