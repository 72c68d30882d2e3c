// Dialogs, confirmations and notices.

import { h, replace } from "./dom.js";

const FIELDS = ["input", "select", "textarea"].map((tag) => `.content ${tag}:enabled`).join(", ");

/** A modal dialog; resolves to what `close(value)` is called with, undefined where it is dismissed.
 *  content: a function of `close` that returns nodes; class: "wide" for editors. */
export function open(title, content, { class: look = "" } = {}) {
  return new Promise((resolve) => {
    let answer;
    const close = (value) => {
      answer = value;
      dialog.close();
    };
    const dialog = h(
      "dialog",
      { class: `dialog ${look}`, "aria-label": title },
      h(
        "header",
        {},
        h("h2", {}, title),
        h(
          "button",
          { class: "icon", type: "button", "aria-label": "Close", onclick: () => close() },
          "×",
        ),
      ),
    );
    dialog.append(h("div", { class: "content" }, content(close)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
    // the browser's choice is the first that can have it, ×; what asks for it with autofocus keeps it
    const first = dialog.querySelector("[autofocus]") ?? dialog.querySelector(FIELDS);
    first?.focus();
    // what is typed takes the place of what is preset, and is not put behind it: 3 of 2 is not 23
    if (first?.matches("input")) first.select();
  });
}

/** Asks before something is done; true where it may be. typed: what has to be typed first (a name);
 *  danger: what is done cannot be undone. detail: nodes below the text. */
export async function confirm({ title, text, action = "OK", typed = "", danger = false, detail }) {
  const answer = await open(title, (close) => {
    const go = h(
      "button",
      {
        type: "submit",
        class: `button ${danger ? "danger" : "primary"}`,
        disabled: Boolean(typed),
      },
      action,
    );
    const input = typed
      ? h("input", {
          type: "text",
          autocomplete: "off",
          spellcheck: "false",
          "aria-label": `Type ${typed} to confirm`,
          oninput: () => (go.disabled = input.value !== typed),
        })
      : null;
    return h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), close(true)) },
      text ? h("p", {}, text) : null,
      detail ?? null,
      input
        ? h("label", { class: "field" }, toType(typed), input)
        : null,
      h(
        "footer",
        {},
        h("button", { type: "button", class: "button", onclick: () => close(false) }, "Cancel"),
        go,
      ),
    );
  });
  return answer === true;
}

/** The words above a field into which a name has to be typed. */
export function toType(name) {
  return h("span", {}, "Type ", h("code", {}, name), " to confirm");
}

/** A notice that goes by itself; errors stay until they are read. warning: what was done was done,
 *  and the server has something to say against it. Gives back its element. */
export function notify(message, { error = false, warning = false } = {}) {
  let area = document.querySelector(".notices");
  if (!area) document.body.append((area = h("div", { class: "notices", "aria-live": "polite" })));
  const notice = h(
    "div",
    { class: `notice ${error ? "error" : warning ? "warning" : ""}`, role: error ? "alert" : "status" },
    h("span", {}, warning ? `Warning: ${message}` : message),
    h("button", { class: "icon", "aria-label": "Dismiss", onclick: () => notice.remove() }, "×"),
  );
  area.append(notice);
  if (!error) setTimeout(() => notice.remove(), 6000);
  return notice;
}

/** What went wrong, as the API said it: message, and each cause with its field. */
export function failure(error) {
  const causes = error.status?.details?.causes ?? [];
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", {}, beforeThem(error.message, causes)),
    causes.length > 1 || (causes.length && !error.message.includes(causes[0].message))
      ? h(
          "ul",
          {},
          causes.map((cause) =>
            h("li", {}, cause.field && cause.field !== "<nil>" ? h("code", {}, cause.field) : null, " ", cause.message),
          ),
        )
      : null,
  );
}

/** A message without the causes that stand below it anyway: 'x is invalid: [a, b]' has them all. */
function beforeThem(message, causes) {
  const at = message.indexOf(": [");
  const all = causes.length > 1 && at > 0 && causes.every((cause) => message.includes(cause.message, at));
  return all ? message.slice(0, at + 1) : message;
}

/** A menu below a button. items() gives, or promises: {label, run, disabled: why not ("" for may),
 *  danger} or null for a line between. */
export function menu(label, items, attributes = {}) {
  const list = h("div", { class: "items", role: "menu", popover: "auto" });
  const button = h(
    "button",
    { type: "button", class: "button", "aria-haspopup": "menu", ...attributes, onclick: show },
    label,
  );
  async function show() {
    const made = items();
    replace(list, (Array.isArray(made) ? made : await made).map(entry));
    list.showPopover();
    const { left, bottom, right } = button.getBoundingClientRect();
    const width = list.offsetWidth;
    list.style.left = `${Math.max(8, left + width > innerWidth - 8 ? right - width : left)}px`;
    list.style.top = `${bottom + 4}px`;
    list.querySelector("button:not([disabled])")?.focus();
  }
  function entry(item) {
    if (!item) return h("hr", {});
    const run = () => (list.hidePopover(), item.run());
    return h(
      "button",
      {
        type: "button",
        role: "menuitem",
        class: item.danger ? "danger" : "",
        disabled: Boolean(item.disabled),
        title: item.disabled || null,
        onclick: run,
      },
      item.label,
    );
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...list.querySelectorAll("button:not([disabled])")];
    const at = buttons.indexOf(document.activeElement);
    buttons.at((at + step + buttons.length) % buttons.length)?.focus();
  });
  return h("span", { class: "menu" }, button, list);
}
