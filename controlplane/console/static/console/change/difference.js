/* What storing would change, line by line, with what the server itself put in marked. */

import { h } from "../lib/dom.js";
import { isMap, stringify } from "./exact.js";
import { linePaths } from "./cursor.js";
import { difference, hunks } from "./lines.js";
import { get, indexOf, show } from "./paths.js";
import { print } from "./text.js";

const SIGNS = { same: " ", removed: "−", added: "+" };

/** A table of the lines that differ between two objects. imposed: of `configuration.imposed`; hidden:
    how an object is shown (Secrets' values). */
export function differenceOf(before, after, imposed, hidden) {
  const [old, fresh] = [before, after].map((o) => (o ? print(hidden(o)).trimEnd().split("\n") : []));
  const marked = linesOf(fresh, after, imposed);
  const lines = difference(old, fresh);
  const server = (line) => line.kind !== "removed" && marked.has(line.after);
  const rows = hunks(lines, 3, server).map((line) => (line.kind === "gap" ? gap(line) : row(line, server(line))));
  return h("table", { class: "difference", "aria-label": "What changes" }, h("tbody", {}, rows));
}

/** The numbers of the lines that stand for paths which the server put in. */
function linesOf(lines, object, imposed) {
  const wanted = imposed.map(({ path }) => indexed(object, path));
  const marked = new Set();
  linePaths(lines.join("\n")).forEach((path, at) => {
    if (wanted.some((p) => p.every((step, i) => step === path[i]))) marked.add(at);
  });
  return marked;
}

/** The path with the numbers of list items in the place of their keys. */
function indexed(object, path) {
  return path.map((step, at) => (
    typeof step === "string" ? step : indexOf(get(object, path.slice(0, at)), step)));
}

function gap({ count }) {
  return h("tr", { class: "gap" }, h("td", { colspan: "4" }, `${count} unchanged ${count === 1 ? "line" : "lines"}`));
}

function row(line, server) {
  const number = (kind, at) => (line.kind === kind ? "" : String(at + 1));
  return h("tr", { class: `${line.kind}${server ? " server" : ""}` },
    h("td", { class: "number" }, number("added", line.before)),
    h("td", { class: "number" }, number("removed", line.after)),
    h("td", { class: "sign" }, SIGNS[line.kind]),
    h("td", { class: "line" }, h("code", {}, line.text),
      server ? h("span", { class: "badge warn", title: "Not in what you wrote: a default, or admission" },
        "server") : null));
}

/** A value on one line, for lists of fields. */
export function brief(value) {
  if (value === undefined) return "nothing";
  const text = isMap(value) || Array.isArray(value) ? stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text || "“”";
}

/** A field's path as text. */
export function field(path) {
  return h("code", { class: "field-path" }, show(path));
}
