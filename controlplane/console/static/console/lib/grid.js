// Rows that can be many: only those in sight are in the document. Keyboard and selection.

import { arrange, h, replace } from "./dom.js";
import { isTyping } from "./keyboard.js";

const HEIGHT = 26; // pixels of a row (console.css)
const AROUND = 20; // rows above and below those in sight
const FRESH = 1800; // milliseconds for which a row that has changed is marked

export class Grid {
  /** cells(row): the td elements of a row; open(row): its address; selected(keys): called when the
   *  selection has changed. */
  constructor({ cells, open, selected, label }) {
    Object.assign(this, { cells, open, selected });
    this.head = h("tr", {});
    this.body = h("tbody", {});
    this.note = h("p", { class: "empty-note", role: "status" });
    this.element = h(
      "div",
      { class: "rows", tabindex: "0", role: "region", "aria-label": label },
      h("table", { class: "list" }, h("thead", {}, this.head), this.body),
      this.note,
    );
    this.rows = [];
    this.known = new Map(); // key -> {row, line, tick}
    this.above = space();
    this.below = space();
    this.chosen = new Set();
    this.at = -1;
    this.columns = [];
    this.all = h("input", {
      type: "checkbox",
      "aria-label": "Select all",
      onchange: () => this.selectAll(),
    });
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
  }

  /** heads: th elements. */
  setHead(heads) {
    this.known.clear();
    replace(this.head, h("th", { class: "tick" }, this.all), heads);
  }

  /** rows: [{key, row}] in order; fresh: key -> when it changed. */
  show(rows, fresh) {
    this.rows = rows;
    this.fresh = fresh;
    const there = new Set(rows.map(({ key }) => key));
    const before = this.chosen.size;
    for (const key of this.chosen) if (!there.has(key)) this.chosen.delete(key);
    for (const key of this.known.keys()) if (!there.has(key)) this.known.delete(key);
    this.at = Math.min(this.at, rows.length - 1);
    this.draw();
    if (before !== this.chosen.size) this.selected(this.chosen);
  }

  /** Where there are no rows: why; "" where there are. */
  say(text) {
    this.note.hidden = !text;
    if (this.note.textContent !== text) replace(this.note, text);
  }

  draw() {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / HEIGHT) - AROUND);
    const last = Math.min(
      this.rows.length,
      Math.ceil((scrollTop + clientHeight) / HEIGHT) + AROUND,
    );
    const lines = this.rows.slice(first, last).map((one, index) => this.line(one, first + index));
    fill(this.above, first);
    fill(this.below, this.rows.length - last);
    arrange(this.body, [this.above, ...lines, this.below]);
    this.all.checked = this.chosen.size > 0 && this.chosen.size === this.rows.length;
    this.all.indeterminate = this.chosen.size > 0 && !this.all.checked;
  }

  line({ key, row }, index) {
    const found = this.known.get(key) ?? this.made(key, row);
    if (found.row !== row) {
      renewCells(found.line, this.cells(row));
      found.row = row;
    }
    const { line, tick } = found;
    tick.checked = this.chosen.has(key);
    line.classList.toggle("selected", tick.checked);
    line.classList.toggle("current", index === this.at);
    this.mark(found, this.fresh?.get(key));
    return line;
  }

  made(key, row) {
    const tick = h("input", {
      type: "checkbox",
      "aria-label": `Select ${key.replace(/^\//, "")}`,
      onchange: () => this.toggle(key),
    });
    const line = h("tr", { "data-key": key }, h("td", { class: "tick" }, tick), this.cells(row));
    const found = { row, line, tick };
    this.known.set(key, found);
    return found;
  }

  /** Marks a row for a while after it has changed. */
  mark(found, changed) {
    if (changed === undefined || changed === found.changed) return;
    found.changed = changed;
    clearTimeout(found.timer);
    const left = changed + FRESH - Date.now();
    found.line.classList.toggle("fresh", left > 0);
    if (left > 0) found.timer = setTimeout(() => found.line.classList.remove("fresh"), left);
  }

  toggle(key) {
    if (!this.chosen.delete(key)) this.chosen.add(key);
    this.draw();
    this.selected(this.chosen);
  }

  selectAll() {
    const all = this.all.checked;
    this.chosen.clear();
    if (all) for (const { key } of this.rows) this.chosen.add(key);
    this.draw();
    this.selected(this.chosen);
  }

  clear() {
    this.chosen.clear();
    this.draw();
    this.selected(this.chosen);
  }

  /** Arrows, j and k, Enter, x, Escape; until the signal is aborted. */
  listen(signal) {
    const keys = {
      ArrowDown: () => this.step(1),
      j: () => this.step(1),
      ArrowUp: () => this.step(-1),
      k: () => this.step(-1),
      Home: () => this.step(-this.rows.length),
      End: () => this.step(this.rows.length),
      Enter: () => this.rows[this.at] && this.open(this.rows[this.at].row),
      x: () => this.rows[this.at] && this.toggle(this.rows[this.at].key),
      " ": () => this.rows[this.at] && this.toggle(this.rows[this.at].key),
      Escape: () => this.clear(),
    };
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (document.querySelector("dialog[open], [popover]:popover-open")) return;
      const onControl = event.target.closest?.("a, button, summary");
      if (onControl && (event.key === "Enter" || event.key === " ")) return;
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    };
    addEventListener("keydown", press, { signal });
    addEventListener("resize", () => this.draw(), { signal });
  }

  /** Rows have come above those that are there: the same ones stay in sight. */
  shift(by) {
    if (this.at >= 0) this.at += by;
    this.element.scrollTop += by * HEIGHT;
    this.draw();
  }

  step(by) {
    if (!this.rows.length) return;
    this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + by));
    const { scrollTop, clientHeight } = this.element;
    const top = this.at * HEIGHT;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + 2 * HEIGHT > scrollTop + clientHeight) {
      this.element.scrollTop = top + 2 * HEIGHT - clientHeight;
    }
    this.draw();
  }
}

/** Cells that look as before stay: a link that is being clicked is not taken from below the mouse. */
function renewCells(line, cells) {
  cells.forEach((cell, at) => {
    const before = line.children[at + 1]; // the first is the tick
    if (!before.isEqualNode(cell)) before.replaceWith(cell);
  });
}

/** What stands for rows that are not in the document. */
function space() {
  return h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: "99" }));
}

function fill(filler, rows) {
  filler.hidden = rows <= 0;
  filler.firstChild.style.height = `${Math.max(0, rows) * HEIGHT}px`;
}
