// Oneself: account, roles, tokens, sessions.

import { h, replace } from "../lib/dom.js";
import { fact } from "../lib/facts.js";
import { button, panel, table } from "../lib/plain.js";
import { end, sessionTable } from "../lib/sessions.js";
import { makeToken, tokenList } from "../lib/tokens.js";

export default async function view(context) {
  const { root, signal } = context;
  const me = await fact("/me", {}, signal);
  const tokens = tokenList({ mine: "1" }, signal);
  const again = () => view(context);
  replace(
    root,
    h("div", { class: "toolbar" }, h("h1", {}, me.name), me.superuser ? h("span", { class: "badge warn" }, "superuser") : null),
    panel("Account", h("dl", { class: "kv" }, h("dt", {}, "uid"), h("dd", {}, me.uid), h("dt", {}, "groups"), h("dd", {}, me.groups.join(", ") || "none")), table([["Role", (r) => r.name], ["", (r) => r.meaning, "wrap"]], me.roles, "You hold no role of the installation.")),
    panel("Tokens", button("New token", async () => (await makeToken({})) && tokens.draw()), tokens.root),
    panel(
      "Sessions",
      me.sessions.some((row) => !row.current) && button("End all others", () => end("/sessions/others", again)),
      sessionTable(me.sessions, again),
    ),
  );
}
