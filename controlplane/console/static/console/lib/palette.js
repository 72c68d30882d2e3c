// Ctrl-K: kinds, tenants, objects by what is in them, and what can be done.

import { api } from "./api.js";
import { groupPart, resources } from "./discovery.js";
import { h, replace } from "./dom.js";
import { fullName, isListable } from "./kinds.js";
import { go, pathOf } from "./router.js";
import { everywhereWith, isServed, objectsWith, splitAt } from "./search.js";
import { accountsPage, lastTenant, recall } from "./state.js";
import { tenants } from "./tenants.js";

const MOST = 40;
const FEW = 15; // objects of each sort
const PAUSE = 150; // milliseconds without a key before the server is asked
const CUT = "There are more than these: type more to narrow it.";
const NONE = { items: [], more: false }; // where nothing can be asked
const LABEL = /^[\w./-]+=[\w.-]+$/;
const WORDS_ONLY = "only the beginnings of words count, of names, labels, annotations and values";
const ACTIONS = [
  ["Overview: near a quota, stuck deletions, newest changes", "/"],
  ["Tenants: use and quotas, tokens, a new one", "/tenants"],
  ["Audit log", "/audit"],
  ["Sessions and tokens of all accounts", "/sessions"],
  ["System", "/system"],
  ["My tokens and sessions", "/me"],
];

/** What is done where one is. */
const DEEDS = [
  ["Dark or light", () => dispatchEvent(new CustomEvent("console:theme"))],
  ["Keyboard: which keys there are", () => dispatchEvent(new CustomEvent("console:help"))],
  ["Log out", () => dispatchEvent(new CustomEvent("console:logout"))],
];
const MAKING = /^(?:new|create)\s+(\S+)$/i;

const OF_TENANT = [
  ["Access: who may do what, give access", "access"],
  ["Definitions: versions, conditions, users", "crds"],
  ["Admission: policies, webhooks, try-out", "admission"],
  ["Past: what there was as of a time", "past"],
  ["Deleted objects: who deleted them, undelete", "deleted"],
];

/** Opens it, unless it is open. */
export function palette() {
  if (document.querySelector("dialog.palette")) return;
  const tenant = lastTenant();
  const state = { entries: [], at: 0, asked: 0, moved: false };
  const list = h("ul", { role: "listbox", id: "found" });
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "found",
    "aria-label": "Find or do",
    placeholder: `Kind, object, label or action — in ${tenant}: “deploy”, “cm web”, “app=web”`,
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => update(),
  });
  const none = h("p", { class: "muted", role: "status" });
  const dialog = h("dialog", { class: "palette", "aria-label": "Find or do" }, input, list, none);
  const draw = () =>
    replace(
      list,
      state.entries.map((entry, at) => line(entry, at)),
    );
  const choose = (entry) => {
    dialog.close();
    if (entry.run) entry.run();
    else go(entry.to);
  };
  function line(entry, at) {
    const chosen = at === state.at;
    return h(
      "li",
      {
        role: "option",
        id: `found-${at}`,
        "aria-selected": String(chosen),
        onclick: () => choose(entry),
        onmousemove: () => at !== state.at && ((state.at = at), draw()),
      },
      h("span", { class: "what", title: entry.what }, entry.what),
      h("span", { class: "name" }, entry.name),
      h("span", { class: "where" }, entry.where),
      entry.found ? h("span", { class: "found" }, marked(entry.found, entry.text)) : null,
    );
  }
  async function update() {
    const asked = (state.asked += 1);
    state.moved = false;
    const word = input.value.trim();
    for await (const entries of found(tenant, word)) {
      if (asked !== state.asked) return;
      const chosen = state.moved ? state.entries[state.at] : null; // it stays, wherever it goes
      state.entries = entries.slice(0, MOST);
      state.at = Math.max(
        state.entries.findIndex((entry) => entry.to === chosen?.to),
        0,
      );
      draw();
      replace(none, entries.more || entries.length > MOST ? CUT : null);
      input.setAttribute("aria-activedescendant", entries.length ? `found-${state.at}` : "");
    }
    if (asked === state.asked && !state.entries.length) replace(none, nothing(word));
  }
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && state.entries.length) {
      event.preventDefault();
      state.moved = true;
      state.at = (state.at + step + state.entries.length) % state.entries.length;
      draw();
      input.setAttribute("aria-activedescendant", `found-${state.at}`);
      list.children[state.at].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && state.entries[state.at]) {
      event.preventDefault(); // or it presses what has the focus next
      choose(state.entries[state.at]);
    }
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  update();
}

/** What a text may mean: first what is known here, then also what the server finds. */
async function* found(tenant, text) {
  const [first, ...rest] = text.split(/\s+/);
  const known = await resources(tenant).catch(() => []);
  const listable = known.filter(isListable);
  const kinds = rest.length ? [] : matching(listable, first, tenant);
  const near = [...labelled(tenant, text), ...making(listable, text, tenant), ...kinds, ...actions(tenant, text)];
  yield near;
  const { names } = await tenants().catch(() => ({ names: [] }));
  near.push(...tenantsLike(names, text));
  yield near;
  if (text.length < 2) return;
  const kind = rest.length ? listable.find((resource) => score(resource, first) >= 90) : null;
  const wanted = kind ? rest.join(" ") : text;
  const among = (objects) => [
    ...near.filter(({ exact }) => exact),
    ...objects.filter(({ exact }) => exact),
    ...near.filter(({ exact }) => !exact),
    ...objects.filter(({ exact }) => !exact),
  ];
  if (!isServed(known)) {
    yield among(await objectsLike(tenant, kind ? [kind] : likely(listable), wanted));
    return;
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE));
  yield near; // whoever types on asks no more of this
  for await (const objects of searched(tenant, kind, wanted)) {
    yield Object.assign(among(objects), { more: objects.more });
  }
}

/** Objects by their names, then also by the rest of them, then also those of other tenants; `more`
 *  where not all of them are there. */
async function* searched(tenant, kind, text) {
  const spec = { limit: FEW, ...(kind ? { kinds: [fullName(kind)] } : {}) };
  const seen = new Map();
  const add = (...answers) => {
    for (const item of answers.flatMap(({ items }) => items)) {
      const entry = entryOf(item, tenant, text);
      if (!seen.has(entry.to)) seen.set(entry.to, entry);
    }
    return Object.assign([...seen.values()], { more: answers.some(({ more }) => more) });
  };
  yield add(await objectsWith(tenant, text, { ...spec, in: ["names"] }).catch(() => NONE));
  const [here, everywhere] = await Promise.all([
    objectsWith(tenant, text, spec).catch(() => NONE),
    everywhereWith(text, spec).catch(() => NONE),
  ]);
  yield add(here, everywhere);
}

/** A label: all that have it, of every kind. */
function labelled(tenant, text) {
  if (!LABEL.test(text)) return [];
  const to = `${pathOf("t", tenant, "past")}?${new URLSearchParams({ labels: text, namespace: "" })}`;
  return [{ what: "label", name: `All that have ${text}, of every kind`, where: tenant, to }];
}

function nothing(word) {
  const why = word.length < 2 ? "objects are looked for from two letters on" : WORDS_ONLY;
  return `Nothing begins with “${word}”: ${why}.`;
}

/** What was found, with the text that was looked for marked in it. */
function marked(found, text) {
  const [before, match, after] = splitAt(found, text);
  return [before, h("mark", {}, match), after];
}

function entryOf(item, tenant, text) {
  const [match] = item.matches;
  const group = item.apiVersion.includes("/") ? item.apiVersion.split("/")[0] : "core";
  const place = [item.tenant === tenant ? "" : item.tenant, item.namespace];
  const found = match.path === "metadata.name" ? "" : match.excerpt;
  const of = item.tenant ?? tenant;
  return {
    what: item.kind,
    name: item.name,
    where: place.filter(Boolean).join(" · "),
    found,
    text,
    exact: of === tenant && item.name === text.toLowerCase(),
    to: pathOf("t", of, group, item.resource, item.namespace || "-", item.name),
  };
}

function matching(all, word, tenant) {
  if (!word) return [];
  return all
    .map((resource) => [score(resource, word), resource])
    .filter(([points]) => points)
    .sort(([a, one], [b, other]) => b - a || one.kind.length - other.kind.length)
    .map(([, resource]) => ({
      what: "kind",
      name: resource.kind,
      where: [fullName(resource), ...resource.shortNames].join(", "),
      to: listPath(tenant, resource),
    }));
}

/** "new deploy": the pages on which objects of such kinds are made. */
function making(all, text, tenant) {
  const word = MAKING.exec(text)?.[1];
  if (!word) return [];
  const namespace = recall("namespace", "");
  return matching(all.filter((one) => one.verbs.includes("create")), word, tenant).map((entry) => {
    const [path] = entry.to.split("?");
    const within = namespace ? `?namespace=${encodeURIComponent(namespace)}` : "";
    return { ...entry, what: "create", name: `New ${entry.name}`, to: `${path}/new${within}` };
  });
}

function listPath(tenant, resource) {
  const namespace = resource.namespaced ? recall("namespace", "") : "";
  const path = pathOf("t", tenant, groupPart(resource), resource.resource);
  return namespace ? `${path}?namespace=${encodeURIComponent(namespace)}` : path;
}

/** How well a word means a kind: 100 for what kubectl takes it for, 0 for not at all. */
export function score(resource, text) {
  const word = text.toLowerCase();
  const names = [
    resource.resource,
    resource.singular,
    resource.kind.toLowerCase(),
    fullName(resource),
  ];
  if (resource.shortNames.includes(word)) return 100;
  if (names.includes(word)) return 95;
  if (names.some((name) => name.startsWith(word))) return 60;
  if (names.some((name) => name.includes(word))) return 30;
  return 0;
}

function actions(tenant, text) {
  const word = text.toLowerCase();
  const accounts = accountsPage();
  const manage = accounts ? [["Accounts of the console: who may log in, roles", () => location.assign(accounts)]] : [];
  const here = OF_TENANT.map(([name, place]) => [name, pathOf("t", tenant, place)]);
  const fits = ([name]) => name.toLowerCase().includes(word);
  return [
    ...[...here, ...ACTIONS].filter(fits).map(([name, to]) => ({ what: "go to", name, where: "", to })),
    ...[...manage, ...DEEDS].filter(fits).map(([name, run]) => ({ what: "do", name, where: "", to: name, run })),
  ];
}

function tenantsLike(names, text) {
  const word = text.toLowerCase();
  if (!word) return [];
  const fits = names.filter((name) => name.includes(word)).slice(0, 10);
  const entry = (name) => ({ what: "tenant", name, where: "", to: `${pathOf("t", name)}/` });
  return fits.map((name) => ({ ...entry(name), exact: name === word }));
}

const USUAL = [
  "pods",
  "deployments.apps",
  "statefulsets.apps",
  "services",
  "configmaps",
  "secrets",
  "namespaces",
];

function likely(all) {
  return all.filter(
    (one) =>
      USUAL.includes(fullName(one)) ||
      !/(^$|\.k8s\.io$)|^(apps|batch|policy|autoscaling)$/.test(one.group),
  );
}

async function objectsLike(tenant, kinds, text) {
  const lists = await Promise.all(kinds.slice(0, 16).map((kind) => namesOf(tenant, kind)));
  const word = text.toLowerCase();
  return lists
    .flat()
    .filter(({ name, uid }) => name.includes(word) || uid === word)
    .slice(0, MOST)
    .map(({ name, namespace, kind }) => ({
      what: kind.kind,
      name,
      where: namespace,
      exact: name === word,
      to: pathOf("t", tenant, groupPart(kind), kind.resource, namespace || "-", name),
    }));
}

const names = new Map();

async function namesOf(tenant, kind) {
  const key = `${tenant}\0${fullName(kind)}`;
  const known = names.get(key);
  if (known && known.until > Date.now()) return known.answer;
  const answer = api(tenant)
    .list(kind, { metadata: true, limit: 500 })
    .then((list) =>
      list.items.map(({ metadata }) => ({
        name: metadata.name,
        namespace: metadata.namespace ?? "",
        uid: metadata.uid,
        kind,
      })),
    )
    .catch(() => []);
  names.set(key, { until: Date.now() + 10_000, answer });
  return answer;
}
