// Sessions of the console in a table: one's own, or those of all accounts.

import { notify } from "./dialog.js";
import { h } from "./dom.js";
import { tell } from "./facts.js";
import { button, table } from "./plain.js";
import { age, exact } from "./time.js";

/** Of sessions that were open before this was kept. */
const UNKNOWN = "-";

/** changed(): called when one was ended; first: columns that stand before the others. */
export function sessionTable(sessions, changed, first = []) {
  const last = (row) => {
    if (row.current) return h("span", { class: "badge good" }, "this one");
    return row.endable === false ? null : button("End", () => end(`/sessions/${row.id}`, changed));
  };
  return table([...first, ...COLUMNS, ["", last]], sessions, "No session is open.");
}

/** Ends one, or several, by their address below the facts; says what is refused. */
export async function end(path, changed) {
  try {
    await tell("DELETE", path);
    await changed();
  } catch (error) {
    notify(error.message, { error: true });
  }
}

const COLUMNS = [
  ["Opened", (row) => age(row.begun)],
  ["Last used", (row) => (row.used ? age(row.used) : UNKNOWN)],
  ["From", (row) => row.address || UNKNOWN],
  ["Browser", (row) => (row.agent ? h("span", { title: row.agent }, row.browser || "unknown") : UNKNOWN)],
  ["Ends", (row) => exact(Date.parse(row.ends))],
];
