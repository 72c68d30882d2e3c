// What stands around every view: the bar on top, and at the side where to go.

import { resources } from "./discovery.js";
import { menu, open } from "./dialog.js";
import { h, replace, svg } from "./dom.js";
import { drawer } from "./drawer.js";
import { namespaces } from "./namespaces.js";
import { awaySince } from "./outage.js";
import { address, go, NOWHERE, pathOf, whenShown } from "./router.js";
import { account, accountsPage, keep, lastTenant, recall } from "./state.js";
import { tenants } from "./tenants.js";
import { age } from "./time.js";
import { Tree } from "./tree.js";

const OTHER = "…"; // of the choice of namespaces: one that is typed
const PLACES = [
  ["Tenants", "tenants"],
  ["Audit", "audit"],
  ["Sessions", "sessions"],
  ["System", "system"],
];

/** Of the tenant that is shown. */
const TENANT_PLACES = [
  ["Access", "access"],
  ["Definitions", "crds"],
  ["Admission", "admission"],
  ["Past", "past"],
  ["Deleted", "deleted"],
];

/** Builds the frame; returns the element that views fill. find: opens the palette. */
export function build(find) {
  const main = h("main", { id: "main", tabindex: "-1" });
  const frame = { tenant: "", namespace: recall("namespace", "") };
  const trail = h("nav", { class: "trail", "aria-label": "Breadcrumbs" });
  const tenant = h("select", { "aria-label": "Tenant", onchange: (e) => toTenant(frame, e.target) });
  const namespace = h("select", {
    "aria-label": "Namespace",
    onchange: (e) => (e.target.value === OTHER ? another(frame, e.target) : toNamespace(frame, e.target)),
  });
  const tree = new Tree();
  addEventListener("console:counted", ({ detail }) => tree.recount(detail));
  const own = h("nav", { class: "places", "aria-label": "Of the tenant" });
  const places = h("nav", { class: "places", "aria-label": "Installation" });
  const skip = (event) => (event.preventDefault(), main.focus()); // and shows no view anew
  const side = h(
    "aside",
    { class: "side", id: "side", "aria-label": "Where to go" },
    h("label", { class: "pick" }, h("span", {}, "Tenant"), tenant),
    h("label", { class: "pick" }, h("span", {}, "Namespace"), namespace),
    tree.element,
    own,
    places,
  );
  document.body.append(
    h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to content"),
    h("header", { class: "top" }, drawer(side), brand(), trail, outage(), finder(find), theme(), person()),
    side,
    main,
  );
  whenShown((context) => shown(frame, context, { trail, tenant, namespace, tree, own, places }));
  return main;
}

function shown(frame, { tenant: named, params, query, path, known }, parts) {
  const meant = named || settingsOf(named, params);
  const tenant = meant || query.get("tenant") || lastTenant();
  if ((params.resource && !params.name) || query.has("namespace"))
    setNamespace(frame, query.get("namespace") ?? "");
  if (meant) keep("tenant", tenant);
  if (tenant !== frame.tenant) fillTenants(parts.tenant, tenant);
  fillNamespaces(frame, parts.namespace, tenant);
  frame.tenant = tenant;
  const isLeft = () => tenant !== frame.tenant; // the answer for one tenant may come after another's
  resources(tenant)
    .then((all) => isLeft() || parts.tree.show(tenant, all, frame.namespace, params))
    .catch(() => isLeft() || parts.tree.clear());
  replace(
    parts.own,
    h("p", { title: tenant }, h("a", { href: `${address("t", tenant)}/` }, `Tenant ${tenant}`)),
    TENANT_PLACES.map(([title, place]) => placeLink(title, ["t", tenant, place], path)),
  );
  replace(
    parts.places,
    h("p", {}, "Installation"),
    PLACES.map(([title, place]) => placeLink(title, [place], path)),
  );
  const title = known ? titleOf(named, params, path) : NOWHERE;
  replace(parts.trail, known ? crumbs(named, params, path, title) : h("span", {}, title));
  document.title = [title, named, "Polyplane"].filter(Boolean).join(" · ");
}

function placeLink(title, parts, path) {
  const to = pathOf(...parts);
  const here = path === to || path.startsWith(`${to}/`);
  return h("a", { href: address(...parts), "aria-current": here ? "page" : null }, title);
}

/** The place among a list of them that a part of the path names: its title. */
function placeOf(places, path, at) {
  return places.find(([, name]) => path.split("/")[at] === name)?.[0];
}

function setNamespace(frame, namespace) {
  frame.namespace = namespace;
  keep("namespace", namespace);
}

/** What is chosen is what is shown, also where the reader would rather stay. */
async function toTenant(frame, select) {
  await go(pathOf("t", select.value) + "/");
  select.value = frame.tenant;
}

/** The same list in another namespace; from elsewhere, the tenant's page with it chosen. */
function toNamespace(frame, { value: namespace }) {
  setNamespace(frame, namespace);
  const url = new URL(location.href);
  if (namespace) url.searchParams.set("namespace", namespace);
  else url.searchParams.delete("namespace");
  go(url.pathname.replace(/^\/admin\/console/, "") + url.search, { replace: true });
}

async function fillTenants(select, chosen) {
  const { names } = await tenants().catch(() => ({ names: [] }));
  const all = [...new Set([...names, chosen])].sort();
  replace(
    select,
    all.map((name) => h("option", { value: name, selected: name === chosen }, name)),
  );
}

async function fillNamespaces(frame, select, tenant) {
  const { names, all } = await namespaces(tenant).catch(() => ({ names: [], all: false }));
  if (tenant !== frame.tenant) return;
  const chosen = frame.namespace;
  const shown = chosen && !names.includes(chosen) ? [...names, chosen].sort() : names;
  replace(
    select,
    h("option", { value: "" }, "All"),
    shown.map((name) => h("option", { value: name, selected: name === chosen }, name)),
    all ? null : h("option", { value: OTHER }, "Another…"),
  );
}

/** Asks for a namespace that is not among those to choose from. */
async function another(frame, select) {
  select.value = frame.namespace;
  const name = await open("Another namespace", (close) => {
    const input = h("input", { type: "text", autocomplete: "off", spellcheck: "false", required: true });
    return h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), close(input.value.trim())) },
      h("label", { class: "field" }, "Name", input),
      h("footer", {}, h("button", { class: "button primary", type: "submit" }, "Go to it")),
    );
  });
  if (name) toNamespace(frame, { value: name });
}

function brand() {
  const logo = h("img", { src: "/static/console/favicon.svg", alt: "", width: "20", height: "20" });
  return h("a", { class: "brand", href: address() }, logo, "Polyplane");
}

function finder(find) {
  return h(
    "button",
    { class: "finder", type: "button", onclick: find, "aria-keyshortcuts": "Control+K" },
    h("span", {}, "Find or do…"),
    h("kbd", {}, "Ctrl K"),
  );
}

/** Says so as long as the server does not answer. */
function outage() {
  const sign = h("span", { class: "outage", role: "status" });
  const title = "What is shown may be old. The server is asked again every two seconds.";
  addEventListener("console:away", () => {
    const look = { class: "badge bad", title };
    replace(sign, h("span", look, "No answer from the server for ", age(awaySince())));
  });
  addEventListener("console:back", () => replace(sign));
  return sign;
}

function theme() {
  const flip = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    dispatchEvent(new CustomEvent("console:themed"));
    try {
      localStorage.setItem("theme", next);
    } catch {
      // it holds as long as the page
    }
  };
  addEventListener("console:theme", flip);
  const moon = svg(
    "svg",
    { viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true" },
    svg("path", { d: "M8 1a7 7 0 1 0 0 14z", fill: "currentColor" }),
    svg("circle", { cx: "8", cy: "8", r: "6.5", fill: "none", stroke: "currentColor" }),
  );
  return h(
    "button",
    {
      class: "icon",
      type: "button",
      title: "Dark or light",
      "aria-label": "Dark or light",
      onclick: flip,
    },
    moon,
  );
}

function person() {
  const logout = () => {
    const token = document.querySelector("meta[name=csrf-token]").content;
    const form = h(
      "form",
      { method: "post", action: "/admin/logout/", hidden: true },
      h("input", { type: "hidden", name: "csrfmiddlewaretoken", value: token }),
    );
    document.body.append(form);
    form.submit();
  };
  addEventListener("console:logout", logout);
  const accounts = accountsPage();
  return menu(
    account(),
    () => [
      { label: "My tokens and sessions", run: () => go("/me") },
      { label: "Keyboard", run: () => dispatchEvent(new CustomEvent("console:help")) },
      ...(accounts ? [{ label: "Accounts of the console", run: () => location.assign(accounts) }] : []),
      { label: "Tables of the database", run: () => location.assign("/admin/") },
      null,
      { label: "Log out", run: logout },
    ],
    { class: "button quiet" },
  );
}

function crumbs(tenant, params, path, title) {
  const parts = [];
  if (tenant) parts.push([tenant, address("t", tenant) + "/"]);
  if (params.resource) {
    const name = params.group === "core" ? params.resource : `${params.resource}.${params.group}`;
    const kept = new URLSearchParams(
      recall(`list:${tenant}:${params.group}:${params.resource}`, ""),
    );
    const to = address("t", tenant, params.group, params.resource);
    parts.push([name, kept.size ? `${to}?${kept}` : to]);
  }
  if (params.namespace && params.namespace !== "-") parts.push([params.namespace, null]);
  if (params.name) parts.push([params.name, null]);
  if (settingsOf(tenant, params)) parts.unshift(["Tenants", address("tenants")]);
  const place = tenant && !params.resource ? placeOf(TENANT_PLACES, path, 3) : null;
  if (place) parts.push([place, null]);
  if (!parts.length) parts.push([title, null]);
  return parts.map(([text, to], at) => [
    at ? h("span", { class: "slash", "aria-hidden": "true" }, "/") : null,
    to && at < parts.length - 1 ? h("a", { href: to }, text) : h("span", {}, text),
  ]);
}

/** The tenant whose settings are shown, which is no tenant's own page; "" elsewhere. */
function settingsOf(tenant, params) {
  return (!tenant && params.name) || "";
}

/** What is shown of a tenant, or of the installation: "Edit web", "Settings of acme". */
function titleOf(tenant, params, path) {
  if (settingsOf(tenant, params)) return `Settings of ${params.name}`;
  if (params.name) return /\/edit\/?$/.test(path) ? `Edit ${params.name}` : params.name;
  if (/\/new\/?$/.test(path)) return `New ${params.resource ?? "object"}`;
  if (params.resource) return params.resource;
  const place = tenant ? placeOf(TENANT_PLACES, path, 3) : placeOf(PLACES, path, 1);
  return place ?? (tenant ? "Tenant" : path.startsWith("/me") ? "My account" : "Overview");
}
