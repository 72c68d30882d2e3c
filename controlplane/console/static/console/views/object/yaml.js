// The object as YAML, or as it was at a revision; a Secret's values when they are asked for.

import { h, replace } from "../../lib/dom.js";
import { failure, notify } from "../../lib/dialog.js";
import { age } from "../../lib/time.js";
import { Lines, shown } from "./lines.js";
import { whoOf } from "./revisions.js";

export default async function yaml({ subject, panel, query, page, signal }) {
  const number = query.get("revision");
  const note = h("div", {});
  const code = h("div", { class: "code", role: "region", tabindex: "0", "aria-label": "YAML" });
  let managed = false;
  let past = null;
  const hidden = (path, value) => !past && subject.hides(path, value);
  const lines = new Lines(code, { hidden });
  const object = () => (number ? past?.object : subject.object);
  const draw = (fresh) => object() && lines.draw(shown(object(), { managed }), { fresh });

  const load = async () => {
    past = await subject.api.get(`${subject.revisions}/${number}`, { exact: true, signal });
    replace(note, banner(page, past));
    draw();
  };
  if (number && subject.isSecret) {
    const reveal = () => load().catch((error) => replace(note, failure(error)));
    const ask = button(`Reveal revision ${number}`, reveal, { id: "reveal-revision" });
    replace(
      note,
      h("p", { class: "banner" }, "It holds the values of a Secret as they were. ", ask),
    );
  } else if (number) {
    await load();
  } else if (!subject.object) {
    replace(note, h("p", { class: "banner" }, "There is no such object now; History has what it was, if it was."));
  }
  const toggle = (event) => ((managed = event.target.checked), draw());
  panel.append(
    h(
      "div",
      { class: "bar" },
      h(
        "label",
        {},
        h("input", { type: "checkbox", id: "managed-fields", onchange: toggle }),
        " managedFields",
      ),
      button("Fold", () => lines.foldAll()),
      button("Unfold", () => lines.unfoldAll()),
      button("Copy", async () => {
        await navigator.clipboard.writeText(lines.text());
        notify("The YAML is in the clipboard.");
      }),
      button("Download", () => download(`${subject.name}.yaml`, lines.text())),
      subject.isSecret && !number && subject.object && secretButton(subject, panel, () => draw()),
    ),
    note,
    code,
  );
  draw();
  return () => !number && draw(true);
}

function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", class: "button", onclick, ...attributes }, label);
}

function banner(page, past) {
  return h(
    "p",
    { class: "banner" },
    `As it was at revision ${past.metadata.name}, `,
    age(past.time),
    ` ago (${past.type}${whoOf(past) ? `, ${whoOf(past)}` : ""}). `,
    button("Now", () => page.show("yaml")),
    button("History", () => page.show("history")),
  );
}

/** Reveals and hides. What is shown by it comes by a GET of the whole Secret, which the server
 *  audits as such. */
function secretButton(subject, panel, redraw) {
  const values = h("div", { class: "values" });
  const label = () => (subject.revealed ? "Hide values" : "Reveal values");
  const hint = h("span", { class: "muted", hidden: subject.revealed }, "What it holds is not shown.");
  const flip = button(label(), act, { id: "reveal" });
  async function act() {
    try {
      if (subject.revealed) await subject.hide();
      else await subject.reveal();
    } catch (error) {
      panel.prepend(failure(error));
    }
    flip.textContent = label();
    hint.hidden = subject.revealed;
    replace(values, subject.revealed && decoded(subject.object.data ?? {}));
    redraw();
  }
  subject.can("get").then(({ allowed, reason }) => {
    flip.disabled = !allowed;
    if (!allowed) flip.title = reason || "You may not get this Secret.";
  });
  return [flip, hint, values];
}

function decoded(data) {
  return h(
    "dl",
    {},
    Object.entries(data).map(([name, value]) => [
      h("dt", {}, name),
      h("dd", {}, h("pre", {}, plain(value))),
    ]),
  );
}

/** Base64 as text, where it is text. */
function plain(value) {
  try {
    const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return `${value} (base64)`;
  }
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
