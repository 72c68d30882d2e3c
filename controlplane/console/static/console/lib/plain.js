// Tables and forms of what is no list of objects.

import { h } from "./dom.js";
import { number } from "./units.js";

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

const MOST = 500; // rows of a table that are drawn

/** As `table`, of rows that may be many, in an element. A column's fourth member is the value of a row
 *  by which a click on its title sorts: numbers from the largest, anything else from the first. */
export function sortable(columns, rows, nothing) {
  const root = h("div", {});
  let order = null; // {column, down}
  const head = (column) => {
    const [title, , , value] = column;
    if (!value) return title;
    const by = order?.column === column;
    const sign = by ? (order.down ? " ▾" : " ▴") : "";
    return h("button", { type: "button", onclick: () => turn(column, by) }, title, sign);
  };
  const turn = (column, again) => {
    const numbers = typeof column[3](rows[0]) === "number";
    order = { column, down: again ? !order.down : numbers };
    const at = columns.indexOf(column);
    draw();
    root.querySelectorAll("th")[at].querySelector("button").focus();
  };
  const draw = () => {
    const drawn = table(columns, inOrder(rows, order).slice(0, MOST), nothing);
    root.replaceChildren(drawn);
    drawn.querySelectorAll("th").forEach((cell, at) => {
      cell.replaceChildren(head(columns[at]));
      if (order?.column === columns[at]) cell.ariaSort = order.down ? "descending" : "ascending";
    });
    if (rows.length > MOST) root.append(h("p", { class: "muted" }, `The first ${MOST} of ${number(rows.length)}.`));
  };
  draw();
  return root;
}

function inOrder(rows, order) {
  if (!order) return rows;
  const value = order.column[3];
  const compared = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
  const sign = order.down ? -1 : 1;
  return [...rows].sort((a, b) => sign * compared(value(a), value(b)));
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
