// Oneself: account, roles, tokens, sessions.

import { notify } from "../lib/dialog.js";
import { h, replace } from "../lib/dom.js";
import { fact, tell } from "../lib/facts.js";
import { button, panel, table } from "../lib/plain.js";
import { age, exact } from "../lib/time.js";
import { makeToken, tokenList } from "../lib/tokens.js";

/** Of sessions that were open before this was kept. */
const UNKNOWN = "-";

export default async function view(context) {
  const { root, signal } = context;
  const me = await fact("/me", {}, signal);
  const tokens = tokenList({ mine: "1" }, signal);
  const end = (id) => async () => {
    try {
      await tell("DELETE", `/sessions/${id}`);
      await view(context);
    } catch (error) {
      notify(error.message, { error: true });
    }
  };
  replace(
    root,
    h("div", { class: "toolbar" }, h("h1", {}, me.name), me.superuser ? h("span", { class: "badge warn" }, "superuser") : null),
    panel("Account", h("dl", { class: "kv" }, h("dt", {}, "uid"), h("dd", {}, me.uid), h("dt", {}, "groups"), h("dd", {}, me.groups.join(", ") || "none")), table([["Role", (r) => r.name], ["", (r) => r.meaning]], me.roles, "You hold no role of the installation.")),
    panel("Tokens", button("New token", async () => (await makeToken({})) && tokens.draw()), tokens.root),
    panel(
      "Sessions",
      button("End all others", end("others")),
      table(
        [
          ["Opened", (s) => age(s.begun)],
          ["Last used", (s) => (s.used ? age(s.used) : UNKNOWN)],
          ["From", (s) => s.address || UNKNOWN],
          ["Browser", (s) => (s.agent ? h("span", { title: s.agent }, s.browser || "unknown") : UNKNOWN)],
          ["Ends", (s) => exact(Date.parse(s.ends))],
          ["", (s) => (s.current ? h("span", { class: "badge good" }, "this one") : button("End", end(s.id)))],
        ],
        me.sessions,
      ),
    ),
  );
}
