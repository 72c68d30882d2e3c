// How far back the tenant's log reaches: before that nothing of the past can be shown.

import { api } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { CHOICES } from "../../lib/moments.js";
import { button } from "../../lib/plain.js";
import { age } from "../../lib/time.js";

const PATH = "/apis/history.polyplane.dev/v1/retainedlogs/log";

/** The time at which it begins: "" where nothing of it is left, null where the server does not
 *  say. */
export async function beginningOf(tenant, signal) {
  try {
    return (await api(tenant).get(PATH, { signal })).begins ?? "";
  } catch (error) {
    if (error.code === 403) return null;
    throw error;
  }
}

/** The furthest of the choices that it reaches back to; null for none but the present. */
export function furthest(begins) {
  const at = Date.parse(begins);
  return CHOICES.findLast(([, ago]) => ago && Date.now() - ago >= at) ?? null;
}

/** Says so, with the way to that state; choose(moment): shows another one. */
export function told(begins, choose) {
  if (begins === null) return "";
  if (!begins) return "Nothing of the log is left: only the present can be shown.";
  return [
    "The log reaches back to ",
    age(begins),
    " ago. ",
    button("As far as it reaches", () => choose(begins), { class: "link" }),
  ];
}

/** An element that says it. */
export function line() {
  return h("p", { class: "muted", id: "reach" });
}
