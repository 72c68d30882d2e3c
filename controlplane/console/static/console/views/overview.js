// The first page: the tenants that the reader may look into, and what other views have to say of
// the whole installation.

import { h, replace } from "../lib/dom.js";
import { parts } from "../lib/parts.js";
import { address } from "../lib/router.js";
import { tenants } from "../lib/tenants.js";
import { many } from "../lib/units.js";

const MOST = 200;

export default async function overview({ root, signal }) {
  const listed = h("div", { class: "panel" }, h("h2", {}, "Tenants"));
  root.append(h("h1", { class: "page" }, "Overview"), ...parts("overview", { signal }), listed);
  const { names, all } = await tenants();
  const filter = h("input", {
    type: "search",
    placeholder: "Filter tenants",
    "aria-label": "Filter tenants",
    oninput: draw,
  });
  const links = h("div", { class: "links" });
  function draw() {
    const word = filter.value.trim().toLowerCase();
    const fits = names.filter((name) => name.includes(word));
    replace(
      links,
      fits.slice(0, MOST).map((name) => h("a", { href: `${address("t", name)}/` }, name)),
    );
  }
  draw();
  const count = all ? many(names.length, "tenant") : `the first ${many(names.length, "tenant")}`;
  listed.append(
    h("p", { class: "muted" }, names.length ? count : "You may look into no tenant yet."),
    filter,
    links,
  );
}
