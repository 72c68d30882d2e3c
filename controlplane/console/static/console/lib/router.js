// Addresses of the console below /admin/console, and what each shows (History API).

import { confirm } from "./dialog.js";
import { h } from "./dom.js";
import { giveUp, unsaved } from "./unsaved.js";

export const BASE = "/admin/console";
export const NOWHERE = "There is no such page";
const routes = [];
let current = new AbortController();
let outlet = null;
let watchers = [];
let here = ""; // the address that is shown

/** pattern: "/t/:tenant/:group/:resource"; the last part may be "*rest" and takes what is left.
 *  view: an async function of a context {tenant, params, query, path, root, signal}; signal is
 *  aborted when another address is shown. */
export function route(pattern, view) {
  const names = [];
  const source = pattern.replace(/([:*])(\w+)/g, (_, kind, name) => {
    names.push(name);
    return kind === ":" ? "([^/]+)" : "(.*)";
  });
  routes.push({ expression: new RegExp(`^${source}/?$`), names, view });
}

/** Shows an address of the console, as path and query below BASE. */
export function go(path, { replace = false } = {}) {
  return leaving(() => {
    history[replace ? "replaceState" : "pushState"](null, "", BASE + path);
    return show();
  });
}

/** Acts at once; where something would be lost by it, only if the reader says so. */
function leaving(act) {
  const text = unsaved();
  if (!text) return act();
  const asked = confirm({ title: "Leave this page?", text, action: "Leave", danger: true });
  return asked.then((yes) => (yes ? (giveUp(), act()) : undefined));
}

/** The browser has gone to another address: it comes back until the reader has said so. */
function moved() {
  if (!unsaved()) return show();
  history.pushState(null, "", here);
  return leaving(() => history.back());
}

/** Changes the query of the address that is shown, without showing it anew. Members that are
 *  empty leave it. back: whether the browser's Back leads to the address as it was. */
export function remember(changes, { back = false } = {}) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  const same = url.href === location.href;
  history[back && !same ? "pushState" : "replaceState"](null, "", url);
  here = url.href;
}

/** A path of parts, each as it is. */
export function address(...parts) {
  return BASE + pathOf(...parts);
}

export function pathOf(...parts) {
  return "/" + parts.map((part) => encodeURIComponent(part)).join("/");
}

/** Calls back with {tenant, params, path, known} whenever an address is shown; known: whether there
 *  is a page at it. */
export function whenShown(callback) {
  watchers.push(callback);
}

/** Begins: `root` is what views fill. */
export function start(root) {
  outlet = root;
  addEventListener("popstate", moved);
  // browsers keep a page for a while to come back to it: it is not to keep connections as well
  addEventListener("pagehide", () => current.abort());
  addEventListener("pageshow", (event) => event.persisted && show());
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0 || link.target) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !isOurs(url.pathname)) return;
    event.preventDefault();
    go(url.pathname.slice(BASE.length) + url.search);
  });
  return show();
}

function isOurs(path) {
  const first = path.slice(BASE.length).split("/")[1];
  const ours = ["", "t", "tenants", "audit", "sessions", "system", "me"];
  return path.startsWith(BASE) && ours.includes(first ?? "");
}

function matched(path) {
  for (const { expression, names, view } of routes) {
    const match = expression.exec(path);
    if (!match) continue;
    const values = match.slice(1).map(decodeURIComponent);
    return { view, params: Object.fromEntries(names.map((name, at) => [name, values[at]])) };
  }
  return null;
}

/** Shows what the address says, anew. */
export async function show() {
  current.abort();
  const { signal } = (current = new AbortController());
  here = location.href;
  const path = location.pathname.slice(BASE.length) || "/";
  const match = matched(path);
  const found = match ?? { view: nowhere, params: {} };
  const root = document.createElement("div");
  root.className = "view";
  outlet.replaceChildren(root);
  const context = {
    tenant: found.params.tenant ?? "",
    params: found.params,
    query: new URLSearchParams(location.search),
    path,
    known: Boolean(match),
    root,
    signal,
  };
  for (const watcher of watchers) watcher(context);
  try {
    await found.view(context);
  } catch (error) {
    if (!signal.aborted)
      dispatchEvent(new CustomEvent("console:failed", { detail: { error, root } }));
  }
}

function nowhere({ root }) {
  root.append(
    h("h1", { class: "page" }, NOWHERE),
    h("p", {}, "The address may be wrong. ", h("a", { href: address() }, "To the overview")),
  );
}
