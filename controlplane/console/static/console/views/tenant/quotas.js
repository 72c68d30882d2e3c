// The dialog in which a tenant's quotas are changed.

import { failure, open } from "../../lib/dialog.js";
import { h, replace } from "../../lib/dom.js";
import { button, field } from "../../lib/plain.js";
import { bytes, exactly, number, whole } from "../../lib/units.js";

/** Members of spec.quotas: what they are called beside what is used of them, how a value is told and
 *  how it is written to be changed. */
const QUOTAS = [
  ["objects", "Objects", number, String],
  ["bytes", "Bytes", bytes, exactly],
  ["logBytes", "Bytes of history", bytes, exactly],
  ["hourBytes", "Bytes written in an hour", bytes, exactly],
  ["definitions", "Definitions of kinds", number, String],
  ["watches", "Watches open at a time", number, String],
  ["inflight", "Requests at a time", number, String],
];

/** Asks for the quotas and has them stored by `change(quotas)`; true where that was done. own: those
 *  that the tenant has; limits: those in force. */
export function changeQuotas(name, { own = {}, limits }, change) {
  return open(`Quotas of ${name}`, (close) => {
    const said = h("div", {});
    const submit = async (event) => {
      event.preventDefault();
      try {
        await change(given(new FormData(event.target)));
        close(true);
      } catch (error) {
        replace(said, failure(error));
      }
    };
    return h(
      "form",
      { onsubmit: submit },
      h("p", { class: "muted" }, "Numbers as 500, 20k or 2Gi. What is empty is the installation's limit."),
      QUOTAS.map(([quota, title, told, written]) =>
        field(title, quota, {
          value: own[quota] === undefined ? "" : written(own[quota]),
          placeholder: own[quota] === undefined && limits[quota] ? told(limits[quota]) : null,
        }),
      ),
      said,
      h("footer", {}, button("Cancel", () => close()), h("button", { type: "submit", class: "button primary" }, "Change")),
    );
  });
}

/** What stands in the form; null takes a quota of the tenant's own away. Throws for what is none. */
function given(values) {
  return Object.fromEntries(
    QUOTAS.map(([quota, title]) => {
      const text = values.get(quota).trim();
      const wanted = text ? whole(text) : null;
      if (Number.isNaN(wanted)) throw new Error(`${title}: ${text} is no whole number like 500, 20k or 2Gi`);
      return [quota, wanted];
    }),
  );
}
