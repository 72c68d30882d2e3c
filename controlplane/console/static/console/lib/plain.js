// Tables and forms of what is no list of objects.

import { h } from "./dom.js";

/** columns: [title, function of a row that returns nodes, look]. look: "numeric", "name" for what
 *  may be broken where the columns are many, "wrap" for texts that are to be read to their end. */
export function table(columns, rows, nothing = "There is none.") {
  if (!rows.length) return h("p", { class: "muted" }, nothing);
  const head = columns.map(([title, , look]) => h("th", { class: look ?? null, scope: "col" }, title));
  const line = (row) => h("tr", {}, columns.map(([, cell, look]) => h("td", { class: look ?? null }, cell(row))));
  return h(
    "table",
    { class: "list" },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows.map(line)),
  );
}

export function panel(title, ...children) {
  return h("section", { class: "panel", "aria-label": title }, h("h2", {}, title), ...children);
}

export function button(label, run, attributes = {}) {
  return h("button", { type: "button", class: "button", onclick: run, ...attributes }, label);
}

/** A labelled input. */
export function field(label, name, attributes = {}) {
  return h("label", { class: "field" }, label, h("input", { type: "text", name, autocomplete: "off", ...attributes }));
}
