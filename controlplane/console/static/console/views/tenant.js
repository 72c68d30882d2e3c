// A tenant's page: what it holds, by kind, and what other views have to say of it.

import { count } from "../lib/counts.js";
import { groupPart, resources } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { fullName, sections } from "../lib/kinds.js";
import { parts } from "../lib/parts.js";
import { address } from "../lib/router.js";
import { number } from "../lib/units.js";

export default async function tenant({ tenant: name, root, signal }) {
  const holds = h("div", { class: "columns" });
  root.append(
    h("h1", { class: "page" }, name),
    ...parts("tenant", { tenant: name, signal }),
    h("h2", { class: "page" }, "What it holds"),
    holds,
  );
  const all = await resources(name);
  const counted = await Promise.all(
    sections(all).map(async ([title, kinds]) => {
      const counts = await Promise.all(kinds.map((kind) => count(name, kind)));
      return [title, kinds.map((kind, at) => [kind, counts[at]]).filter(([, found]) => found)];
    }),
  );
  if (signal.aborted) return;
  replace(
    holds,
    counted.filter(([, kinds]) => kinds.length).map(([title, kinds]) => panel(name, title, kinds)),
  );
}

function panel(tenant, title, kinds) {
  return h(
    "section",
    { class: "panel" },
    h("h3", {}, title),
    h(
      "dl",
      { class: "kv counts" },
      kinds.map(([kind, found]) => [
        h(
          "dt",
          {},
          h(
            "a",
            { href: address("t", tenant, groupPart(kind), kind.resource), title: fullName(kind) },
            kind.kind,
          ),
        ),
        h("dd", {}, number(found)),
      ]),
    ),
  );
}
