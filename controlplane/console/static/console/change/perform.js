/* The dialog of an action: what is to be done, its dry run, and a result for each object. */

import { h, replace } from "../lib/dom.js";
import { notify, open } from "../lib/dialog.js";
import { hold } from "../lib/unsaved.js";
import { run } from "./bulk.js";
import { manager } from "./ui.js";
import { send } from "./wire.js";

const SIGNS = { waiting: "·", running: "…", done: "✓", refused: "✗", skipped: "–" };

/** Asks, does it, shows how it went. Resolves to whether anything was stored. about: {tenant,
    resource}; objects: with metadata at least. */
export async function perform(action, { tenant, resource }, objects) {
  const stop = new AbortController();
  const performance = new Performance(action, { tenant, resource }, objects, stop.signal);
  hold(`${action.label} is not done for all yet.`, () => performance.busy, stop.signal);
  const [{ metadata }] = objects;
  const whom = objects.length === 1
    ? `${resource.kind} ${[metadata.namespace, metadata.name].filter(Boolean).join("/")}`
    : `${objects.length} × ${resource.kind}`;
  await open(`${action.label} ${whom}`, (close) => performance.contents(close),
    { class: "change-form" });
  stop.abort();
  return performance.stored > 0;
}

class Performance {
  constructor(action, about, objects, signal) {
    Object.assign(this, { action, about, objects, signal, busy: false });
    this.form = action.form(about.resource, objects, about.tenant);
    this.progress = h("progress", { max: String(objects.length), value: 0, hidden: true,
      "aria-label": "Progress" });
    this.tally = h("p", { class: "tally", role: "status" });
    this.entries = objects.map((object) => ({ object, line: this.line(object), stored: false }));
    this.results = h("ul", { class: "results" }, this.entries.map((entry) => entry.line));
  }

  line({ metadata: { namespace, name } }) {
    return h("li", {}, h("span", { class: "state" }, SIGNS.waiting),
      h("span", { class: "name" }, [namespace, name].filter(Boolean).join("/")), h("span", { class: "said" }));
  }

  contents(close) {
    const { action } = this;
    this.close = close;
    this.try = h("button", { type: "button", class: "button", onclick: () => this.go(true) }, "Dry run");
    this.do = h("button", { type: "submit", class: `button ${action.danger ? "danger" : "primary"}`,
      id: "perform" }, action.label);
    this.cancel = h("button", { type: "button", class: "button", onclick: () => close() }, "Cancel");
    const form = h("form", { oninput: () => this.enable(), onsubmit: (event) => {
      event.preventDefault();
      this.go(false);
    } }, h("fieldset", { class: "what" }, this.form.nodes), this.objects.length > 1 ? this.results : null,
    this.progress, this.tally, h("footer", {}, this.cancel, this.try, this.do));
    this.what = form.firstChild;
    this.enable();
    return form;
  }

  enable() {
    const ready = this.form.ready();
    for (const button of [this.try, this.do]) button.disabled = !ready || this.busy;
    this.cancel.textContent = this.busy ? "Stop" : this.stored ? "Close" : "Cancel";
  }

  async go(dryRun) {
    if (this.busy || !this.form.ready()) return;
    this.busy = true;
    this.enable();
    this.what.disabled = true;
    this.progress.hidden = this.objects.length === 1;
    this.progress.value = 0;
    const waiting = this.entries.filter((entry) => !entry.stored);
    this.progress.max = waiting.length;
    const counts = await run(waiting, (entry) => this.one(entry, dryRun),
      (index, result) => this.report(waiting[index], result, dryRun), this.signal);
    this.busy = false;
    this.what.disabled = false;
    this.finish(counts, dryRun);
  }

  async one(entry, dryRun) {
    const { tenant, resource } = this.about;
    const { object } = entry;
    const request = await this.form.request(object, tenant);
    const { namespace, name } = object.metadata;
    const { warnings } = await send(tenant, resource, { namespace, name }, request,
      { dryRun, manager: manager() });
    entry.stored = !dryRun;
    warnings.forEach((text) => notify(text));
  }

  report({ line }, { state, error }, dryRun) {
    const [sign, , said] = line.children;
    sign.textContent = SIGNS[state];
    line.className = { done: "done", refused: "refused-one" }[state] ?? "";
    said.textContent = error ? error.message : state === "done" && dryRun ? "would be taken" : "";
    if (state !== "running") this.progress.value += 1;
    if (error && this.objects.length === 1) {
      replace(this.tally, h("span", { class: "bad" }, error.message));
    }
  }

  /** What went well closes by itself; what was refused stays to be read; of what was stopped all is
      said that is done. */
  finish({ done, refused, skipped }, dryRun) {
    const { action, objects } = this;
    const parts = [`${done} ${dryRun ? "would be done" : "done"}`, refused && `${refused} refused`,
      skipped && `${skipped} not begun`].filter(Boolean).join(", ");
    if (this.signal.aborted) {
      if (objects.length > 1) notify(`${action.label} was stopped: ${parts}`, { error: !dryRun });
      return;
    }
    if (!dryRun && !refused) {
      notify(`${action.label}: ${done === 1 ? objects[0].metadata.name : `${done} objects`} done`);
      this.close();
      return;
    }
    if (objects.length > 1 || !refused) replace(this.tally, parts);
    if (this.stored) this.do.textContent = "Try the refused again";
    this.enable();
  }

  /** How many objects were changed. */
  get stored() {
    return this.entries.filter((entry) => entry.stored).length;
  }
}
