// Lines of YAML on the page: numbers, colours, folding, and a gutter where a tab wants one.

import { h, renew } from "../../lib/dom.js";
import { lineText, manifest } from "../../lib/manifest.js";

const MOST = 4000; // lines that are drawn at once

/** Draws objects into `root`. options: hidden(path), gutter(line, at, lines) -> nodes before the
 *  code, behind(line, at, lines) -> nodes after it, look(line) -> classes of the line, heads() -> a row above
 *  the first line. */
export class Lines {
  constructor(root, options = {}) {
    Object.assign(this, { root, options });
    this.lines = [];
    this.folded = new Set(); // paths
    this.most = MOST;
    this.before = null;
  }

  /** fresh: lines that were not there before are marked. */
  draw(object, { fresh = false } = {}) {
    this.lines = manifest(object, { hidden: this.options.hidden });
    const texts = new Set(this.lines.map((line) => keyOf(line)));
    this.fresh =
      fresh && this.before ? new Set([...texts].filter((t) => !this.before.has(t))) : new Set();
    this.before = texts;
    this.redraw();
  }

  redraw() {
    const rows = [];
    let at = 0;
    while (at < this.lines.length && rows.length < this.most) {
      const line = this.lines[at];
      const folded = isFoldable(line, at) && this.folded.has(nameOf(line));
      rows.push(this.row(line, at, folded));
      at = folded ? line.end : at + 1;
    }
    const left = this.lines.length - at;
    renew(this.root, this.options.heads?.(), rows, left > 0 && this.rest(left));
  }

  rest(left) {
    const all = () => ((this.most = Infinity), this.redraw());
    return h(
      "button",
      { type: "button", class: "button", onclick: all },
      `Show ${left} more lines`,
    );
  }

  row(line, at, folded) {
    const { gutter, look, behind } = this.options;
    const classes = ["line", this.fresh.has(keyOf(line)) && "fresh", ...(look?.(line) ?? [])];
    return h(
      "div",
      { class: classes.filter(Boolean).join(" "), "data-line": String(at + 1) },
      gutter?.(line, at, this.lines),
      h("span", { class: "number" }, String(at + 1)),
      isFoldable(line, at) ? this.toggle(at, folded) : h("span", { class: "fold" }),
      h(
        "code",
        {},
        line.parts.map(([kind, text]) =>
          kind === "space" ? text : h("span", { class: `y-${kind}` }, text),
        ),
        folded && h("span", { class: "more" }, ` … ${line.end - at - 1} lines`),
      ),
      behind?.(line, at, this.lines),
    );
  }

  toggle(at, folded) {
    const flip = () => {
      const name = nameOf(this.lines[at]); // of now: the button may be older than the lines
      if (!this.folded.delete(name)) this.folded.add(name);
      this.redraw();
    };
    return h(
      "button",
      {
        type: "button",
        class: "fold",
        "aria-label": folded ? "Unfold" : "Fold",
        "aria-expanded": String(!folded),
        onclick: flip,
      },
      folded ? "▸" : "▾",
    );
  }

  foldAll() {
    this.lines.forEach((line, at) => {
      if (isFoldable(line, at) && line.path.length > 1) this.folded.add(nameOf(line));
    });
    this.redraw();
  }

  unfoldAll() {
    this.folded.clear();
    this.redraw();
  }

  text() {
    return this.lines.map(lineText).join("\n") + "\n";
  }
}

function isFoldable(line, at) {
  return line.end > at + 1;
}

function nameOf(line) {
  return JSON.stringify(line.path);
}

function keyOf(line) {
  return `${nameOf(line)}\0${lineText(line)}`;
}

/** An object as pages show it: without managedFields, unless they are asked for. */
export function shown(object, { managed = false } = {}) {
  if (managed || !object.metadata?.managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
