// The foot of a list: how many rows there are and are shown, and the ways to those that are not here.

import { h, replace } from "./dom.js";
import { PAGE } from "./table.js";
import { many, number } from "./units.js";

export class Foot {
  /** more(): loads a page more; turn(end): lists from the beginning, or (true) from the end. */
  constructor({ more, turn }) {
    const button = (label, run, title) =>
      h("button", { class: "button", type: "button", hidden: true, title, onclick: run }, label);
    this.total = h("span", { class: "total" });
    this.nothing = h("span", {});
    // they stay where they are, so that a redrawing takes the focus from none
    this.first = button("First", () => turn(false), "The first page (<)");
    this.last = button("Last", () => turn(true), "The last page (>)");
    this.previous = button(`Previous ${PAGE}`, more);
    this.next = button(`Load ${PAGE} more`, more);
    this.element = h(
      "div",
      { class: "footer" },
      this.total,
      this.first,
      this.previous,
      this.next,
      this.last,
      this.nothing,
    );
  }

  /** shown: how many rows fit the filters; by: the column that sorts. */
  draw(table, shown, by) {
    const total = table.rows.size + table.remaining;
    const counted =
      shown === total
        ? many(total, "object")
        : `${number(shown)} of ${many(total, "object")}${within(table, by)}`;
    replace(this.total, counted);
    this.first.hidden = this.last.hidden = !table.hasEnd;
    this.first.setAttribute("aria-pressed", String(!table.atEnd));
    this.last.setAttribute("aria-pressed", String(table.atEnd));
    this.previous.hidden = !(table.more && table.atEnd);
    this.next.hidden = !(table.more && !table.atEnd);
    replace(this.nothing, table.endless ? "Its server does not list from the end." : "");
  }
}

/** Why no row is shown; "" where some are, or where nothing is known yet. */
export function nothing({ columns, rows, remaining, trouble }, shown) {
  if (trouble && !columns.length) return `${trouble.message} The server is asked again.`;
  if (shown || !columns.length) return "";
  return rows.size + remaining ? "Nothing fits the filters." : "There are none here.";
}

function within({ more, rows, sortBy, atEnd }, by) {
  if (!more) return "";
  const loaded = number(rows.size);
  if (sortBy) return ` · the ${atEnd ? "last" : "first"} ${loaded} by ${by.replace(/^-/, "")}`;
  if (atEnd) return ` · sorted and filtered among the last ${loaded}`;
  return ` · sorted and filtered among the ${loaded} that are loaded`;
}
