// Who is in: sessions and tokens of all accounts, for those who may look at the installation.

import { confirm, failure } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { button, panel } from "../lib/plain.js";
import { address, remember } from "../lib/router.js";
import { end, sessionTable } from "../lib/sessions.js";
import { tokenList } from "../lib/tokens.js";
import { many } from "../lib/units.js";

export default async function view({ root, query, signal }) {
  const user = h("input", { type: "search", name: "user", placeholder: "Account", "aria-label": "Account", value: query.get("user") ?? "" });
  const found = h("div", {});
  const show = async (event) => {
    event?.preventDefault();
    const asked = user.value.trim();
    remember({ user: asked });
    const drawn = await accounts(asked, show, signal).catch((error) => [failure(error)]);
    // an answer to what was asked before may come last
    if (!signal.aborted && user.value.trim() === asked) replace(found, drawn);
  };
  const search = h("button", { type: "submit", class: "button primary" }, "Search");
  root.append(h("form", { class: "toolbar", onsubmit: show }, h("h1", {}, "Sessions and tokens"), user, search), found);
  await show();
}

async function accounts(user, show, signal) {
  const { items, more } = await fact("/sessions", { user }, signal);
  const left = more ? h("p", { class: "muted" }, `The ${items.length} that were used last: name an account to see the others.`) : null;
  return [
    panel("Sessions of the console", all(items, show), sessionTable(items, show, [["Account", account]]), left),
    panel("Tokens", tokenList({ user, valid: "1" }, signal).root),
  ];
}

/** Of one account, where all that are shown are its own. */
function all(items, show) {
  const [one] = items;
  const others = items.filter((row) => !row.current).length;
  if (!one?.endable || !others || items.some((row) => row.account !== one.account)) return null;
  const text = `${one.user} has to log in again in ${many(others, "browser")}; tokens go on. Disable the account to keep somebody out.`;
  return button(`End all of ${one.user}`, async () => {
    if (!(await confirm({ title: "End sessions", text, action: "End", danger: true }))) return;
    await end(`/accounts/${one.account}/sessions`, show);
  }, { class: "button danger" });
}

function account(row) {
  const to = `${address("sessions")}?${new URLSearchParams({ user: row.user })}`;
  return row.user ? h("a", { href: to }, row.user) : "(deleted)";
}
