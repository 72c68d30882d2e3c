// What differs between two objects, line by line.

import { edits, hunks } from "../../lib/diff.js";
import { h } from "../../lib/dom.js";
import { lineText, manifest } from "../../lib/manifest.js";
import { shown } from "./lines.js";

const SIGNS = { same: " ", gone: "-", new: "+" };

/** before, after: objects or null for none. hidden: as of lib/manifest.js. */
export function changesBetween(before, after, { hidden } = {}) {
  const texts = [before, after].map((object) => (object ? linesOf(object, hidden) : []));
  const parts = hunks(edits(...texts));
  if (!parts.length) return h("p", { class: "muted" }, "No difference.");
  return h(
    "div",
    { class: "code diff" },
    parts.map((part) => [h("div", { class: "hunk" }, headOf(part)), part.map(row)]),
  );
}

/** Lines without what differs between any two revisions. */
function linesOf(object, hidden) {
  const { resourceVersion: _, ...metadata } = shown(object).metadata;
  return manifest({ ...object, metadata }, { hidden }).map(lineText);
}

function headOf(part) {
  const count = (type) => part.filter((edit) => edit.type !== type).length;
  return `@@ -${part[0].before + 1},${count("new")} +${part[0].after + 1},${count("gone")} @@`;
}

function row({ type, text, before, after }) {
  return h(
    "div",
    { class: `line ${type}` },
    h("span", { class: "number" }, type === "new" ? "" : String(before + 1)),
    h("span", { class: "number" }, type === "gone" ? "" : String(after + 1)),
    h("code", {}, `${SIGNS[type]} ${text}`),
  );
}
