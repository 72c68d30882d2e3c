// The live list of one kind, with the columns that the server prints for it.

import { columnsOf, mood, sorted } from "../lib/columns.js";
import { failure, menu, notify, open } from "../lib/dialog.js";
import { groupPart, resourceOf } from "../lib/discovery.js";
import { h, replace } from "../lib/dom.js";
import { csv, objects, save, yaml } from "../lib/download.js";
import { fact, tell } from "../lib/facts.js";
import { fits, read } from "../lib/filters.js";
import { Foot, nothing } from "../lib/foot.js";
import { Grid } from "../lib/grid.js";
import { isTyping } from "../lib/keyboard.js";
import { fullName } from "../lib/kinds.js";
import { orderOf } from "../lib/order.js";
import { isAway } from "../lib/outage.js";
import { parts } from "../lib/parts.js";
import { address, BASE, go } from "../lib/router.js";
import { forget, keep, recall } from "../lib/state.js";
import { keyOf, LiveTable } from "../lib/table.js";
import { about, age } from "../lib/time.js";
import { many, number } from "../lib/units.js";
import { unserved, within } from "../lib/waysout.js";

const SELECTORS = ["label", "field", "cel"]; // parameters of the address that the server obeys

export default async function list(context) {
  const { tenant, params, root } = context;
  const resource = await resourceOf(tenant, params.group, params.resource);
  if (!resource) {
    const name = params.group === "core" ? params.resource : `${params.resource}.${params.group}`;
    root.append(unserved(tenant, name));
    return;
  }
  await new List(context, resource).run();
}

class List {
  constructor({ tenant, params, query, root, signal }, resource) {
    Object.assign(this, { tenant, params, query, root, signal, resource });
    this.namespace = resource.namespaced ? (query.get("namespace") ?? "") : "";
    this.sort = query.get("sort") ?? "";
    this.typed = "";
    this.left = null; // how often the list had been made when another end of it was asked for
    this.columns = [];
    this.choices = recall(this.storage("columns"), {});
    keep(this.storage("list", `${params.group}:${params.resource}`), query.toString());
    const rules = query.getAll("cel").map((rule) => `(${rule})`);
    this.selectors = {
      labelSelector: query.getAll("label").join(","),
      fieldSelector: query.getAll("field").join(","),
      more: rules.length ? { filter: rules.join(" && ") } : {},
    };
    this.table = new LiveTable(
      tenant,
      resource,
      { namespace: this.namespace, ...this.selectors },
      () => this.draw(),
      (definitions) => orderOf(tenant, resource, this.columnsOf(definitions), this.sort),
    );
    this.grid = new Grid({
      label: resource.kind,
      cells: (row) => this.cells(row),
      open: (row) => go(this.objectPath(row)),
      selected: (keys) => this.drawSelection(keys),
    });
    if (query.get("from") === "end") this.begin(true);
    this.build();
  }

  storage(what, kind = fullName(this.resource)) {
    return what === "list" ? `list:${this.tenant}:${kind}` : `${what}:${kind}`;
  }

  async run() {
    this.grid.listen(this.signal);
    const keys = { p: () => this.flip(), "<": () => this.turn(false), ">": () => this.turn(true) };
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      keys[event.key]?.();
    };
    addEventListener("keydown", press, { signal: this.signal });
    for (const event of ["console:away", "console:back"])
      addEventListener(event, () => this.drawState(), { signal: this.signal });
    await this.table.run(this.signal);
  }

  build() {
    const { resource } = this;
    this.chips = h("span", { class: "toolbar chips", hidden: true });
    this.foot = new Foot({ more: () => this.loadMore(), turn: (end) => this.turn(end) });
    this.lamp = h("span", {});
    this.state = h("button", { type: "button", class: "button", onclick: () => this.flip() }, this.lamp);
    this.selection = h("span", { class: "selection", hidden: true });
    this.tools = h("span", { class: "tools" }, this.menus());
    this.field = h("input", {
      type: "search",
      class: "filter",
      placeholder: "Filter: word, app=web, Status:Running",
      title:
        "Words, labels (app=web, tier in (a, b)), columns (Status:Running), field:metadata.name=x, cel:self.spec.replicas > 2; Enter keeps it",
      "aria-label": "Filter",
      oninput: () => ((this.typed = this.field.value), this.draw()),
      onkeydown: (event) => this.typing(event),
    });
    this.root.classList.add("list");
    replace(
      this.root,
      h(
        "div",
        { class: "toolbar" },
        h("h1", { title: fullName(resource) }, resource.kind),
        this.field,
        this.state,
        this.selection,
        this.tools,
      ),
      this.chips,
      this.grid.element,
      this.foot.element,
    );
    this.drawChips();
  }

  menus() {
    const { tenant, resource, namespace } = this;
    return [
      menu("Columns", () => this.columnItems()),
      menu("Views", () => this.viewItems()),
      menu("Save as", () => [
        { label: "CSV of what is shown", run: () => this.saveCsv() },
        { label: "YAML of what is shown", run: () => this.saveYaml() },
      ]),
      h("span", { class: "grow" }),
      parts("list:tools", { tenant, resource, namespace }),
    ];
  }

  // What is shown

  visible() {
    return this.columns.filter((column) => !(this.choices[column.name] ?? column.hidden));
  }

  columnsOf(definitions) {
    return columnsOf(definitions, { namespaces: this.resource.namespaced && !this.namespace });
  }

  filters() {
    const kept = this.query.getAll("q").map((text) => read(text, this.columns));
    return this.typed.trim() ? [...kept, { ...read(this.typed, this.columns) }] : kept;
  }

  shown() {
    const local = this.filters().filter(({ type }) => type === "column" || type === "word");
    const rows = [...this.table.rows.values()].filter((row) => fits(row, local, this.columns));
    return this.table.sortBy ? rows : sorted(rows, this.columns, this.sort);
  }

  draw() {
    const { table, grid } = this;
    if (table.error) {
      replace(this.grid.element, failure(table.error), table.error.code === 403 ? this.whoMay() : null);
      this.state.hidden = true;
      if (table.error.code === 403 && this.resource.namespaced && !this.namespace) this.leadOn();
      return;
    }
    if (table.columns !== this.definitions) {
      this.definitions = table.columns;
      this.columns = this.columnsOf(table.columns);
      this.drawHead();
    }
    this.tellCount();
    const rows = this.shown();
    grid.show(
      rows.map((row) => ({ key: keyOf(row), row })),
      table.fresh,
    );
    grid.say(nothing(table, rows.length));
    this.arrive();
    this.drawState();
    this.foot.draw(table, rows.length, this.sort);
  }

  /** For somebody who may not. */
  whoMay() {
    const { tenant, resource, namespace } = this;
    const query = new URLSearchParams({ verb: "list", what: fullName(resource), namespace });
    const to = `${address("t", tenant, "access")}?${query}`;
    return h("p", {}, h("a", { href: to }, `Who may list ${resource.resource}`));
  }

  /** To whoever else shows how many there are. */
  tellCount() {
    const { rows, remaining, loads } = this.table;
    const now = rows.size + remaining;
    if (!loads || this.counted === now) return;
    const isFirst = this.counted === undefined;
    this.counted = now;
    const isWhole = SELECTORS.every((name) => !this.query.has(name));
    if (isFirst && !isWhole) return;
    // the first number is news only to who has counted others before
    const detail = isFirst ? { name: fullName(this.resource), count: now } : null;
    dispatchEvent(new CustomEvent("console:counted", { detail }));
  }

  /** Who may not list all namespaces may list some. */
  async leadOn() {
    const to = (namespace) => {
      const query = new URLSearchParams(this.query);
      query.set("namespace", namespace);
      return `${location.pathname}?${query}`;
    };
    const ways = await within(this.tenant, to);
    if (ways) this.grid.element.append(ways);
  }

  drawHead() {
    this.grid.setHead(
      this.visible().map((column) => {
        const down = this.sort === `-${column.name}`;
        const by = this.sort === column.name || down;
        const flip = () => this.sortBy(by && !down ? `-${column.name}` : by ? "" : column.name);
        return h(
          "th",
          {
            "aria-sort": by ? (down ? "descending" : "ascending") : null,
            class: column.numeric ? "numeric" : "",
          },
          h(
            "button",
            { type: "button", title: column.description, onclick: flip },
            column.name,
            by ? (down ? " ▾" : " ▴") : "",
          ),
        );
      }),
    );
  }

  /** One of them leads to the object: its name, or where that is not shown (of Events) the first. */
  cells(row) {
    const shown = this.visible();
    const leads =
      shown.find((one) => one.isName) ?? shown.find((one) => one.name !== "Namespace") ?? shown[0];
    return shown.map((column) => this.cell(column, row, column === leads));
  }

  cell(column, row, leads) {
    const text = column.text(row);
    const { metadata } = row.object;
    if (leads) {
      const deleting = metadata.deletionTimestamp
        ? h(
            "span",
            { class: "badge warn", title: `since ${metadata.deletionTimestamp}` },
            "deleting",
          )
        : null;
      return h(
        "td",
        {},
        h("a", { href: BASE + this.objectPath(row) }, column.isName ? metadata.name : (aged(column, row) ?? text) || metadata.name),
        " ",
        deleting,
      );
    }
    const time = aged(column, row);
    if (time) return h("td", {}, time);
    const look = mood(column, text);
    return h(
      "td",
      { title: text.length > 50 ? text : null, class: column.numeric ? "numeric" : "" },
      look ? h("span", { class: look }, text) : text,
    );
  }

  objectPath(row) {
    const { name, namespace } = row.object.metadata;
    const { tenant, resource } = this;
    return address(
      "t",
      tenant,
      groupPart(resource),
      resource.resource,
      namespace || "-",
      name,
    ).slice(BASE.length);
  }

  drawState() {
    const { paused, missed, trouble } = this.table;
    this.state.setAttribute("aria-pressed", String(paused));
    const away = isAway() || trouble;
    this.lamp.className = paused || away ? "live off" : "live";
    this.lamp.textContent = paused ? `Paused · ${many(missed, "change")}` : away ? "Not live" : "Live";
    this.state.title = [trouble?.message, paused ? "Go on (p)" : "Pause (p)"].filter(Boolean).join("\n");
  }

  /** A page more: above the rows that are there, which stay in sight, where those are the last. */
  async loadMore() {
    const { table, grid } = this;
    try {
      const [top] = this.shown();
      await table.loadMore();
      if (!table.atEnd || !top) return;
      this.draw();
      grid.shift(this.shown().findIndex((row) => keyOf(row) === keyOf(top)));
    } catch (error) {
      if (!this.signal.aborted) notify(error.message, { error: true });
    }
  }

  /** Lists from the end, or from the beginning. */
  turn(end) {
    if (!this.table.hasEnd) return;
    this.begin(end);
    this.put((query) => (end ? query.set("from", "end") : query.delete("from")), false);
    this.table.again();
  }

  begin(end) {
    this.table.wantsEnd = end;
    this.left = this.table.loads;
  }

  /** To the row at which the list begins, once it has been listed from there. */
  arrive() {
    if (this.left === null || this.left === this.table.loads) return;
    this.grid.step(this.table.atEnd ? Infinity : -Infinity);
    this.left = null;
  }

  flip() {
    if (this.table.paused) this.table.resume();
    else this.table.paused = true;
    this.drawState();
  }

  /** In the place of what can be done with the list: no row is to move away from the pointer. */
  drawSelection(keys) {
    const rows = this.table.rows;
    const chosen = [...keys].map((key) => rows.get(key)?.object).filter(Boolean);
    const { tenant, resource } = this;
    const clear = () => this.grid.clear();
    this.selection.hidden = !chosen.length;
    this.tools.hidden = Boolean(chosen.length);
    if (!chosen.length) return;
    replace(
      this.selection,
      h("strong", {}, `${number(chosen.length)} selected`),
      parts("list:selected", { tenant, resource, objects: chosen, clear }),
      h("button", { class: "button quiet", type: "button", onclick: clear }, "Clear"),
    );
  }

  // What it is narrowed by, and how it is sorted: in the address

  typing(event) {
    if (event.key === "Escape") this.field.blur();
    if (event.key !== "Enter" || !this.typed.trim()) return;
    const { type, text } = read(this.typed, this.columns);
    const name = SELECTORS.includes(type) ? type : "q";
    this.field.value = this.typed = "";
    this.put((query) => query.append(name, text), name !== "q");
  }

  /** Changes the address; anew: the server has to be asked again. */
  put(change, anew) {
    change(this.query);
    const to = location.pathname.slice(BASE.length) + (this.query.size ? `?${this.query}` : "");
    keep(
      this.storage("list", `${this.params.group}:${this.params.resource}`),
      this.query.toString(),
    );
    if (anew) {
      go(to);
      return;
    }
    history.replaceState(null, "", BASE + to);
    this.drawChips();
    this.draw();
  }

  sortBy(name) {
    this.sort = name;
    if (this.table.wantsEnd) this.begin(false);
    this.put((query) => {
      query.delete("from");
      if (name) query.set("sort", name);
      else query.delete("sort");
    }, false);
    this.drawHead();
    const { more, sortBy, atEnd } = this.table;
    if (more || sortBy || atEnd) this.table.again();
    this.draw();
  }

  drawChips() {
    const all = [...SELECTORS, "q"].flatMap((name) =>
      this.query.getAll(name).map((text) => [name, text]),
    );
    this.chips.hidden = !all.length;
    replace(
      this.chips,
      all.map(([name, text]) => {
        const drop = () => this.put((query) => query.delete(name, text), name !== "q");
        const said = name === "q" ? text : `${name} ${text}`;
        return h(
          "span",
          { class: "chip" },
          h("span", { title: said }, said),
          name === "label" ? h("a", { href: this.everyKind(text), title: `All that have ${text}` }, "all kinds") : null,
          h(
            "button",
            { class: "icon", type: "button", "aria-label": `Remove ${said}`, onclick: drop },
            "×",
          ),
        );
      }),
    );
  }

  /** The page that lists objects of all kinds. */
  everyKind(labels) {
    return `${address("t", this.tenant, "past")}?${new URLSearchParams({ labels, namespace: this.namespace })}`;
  }

  columnItems() {
    return this.columns.map((column) => {
      const hidden = this.choices[column.name] ?? column.hidden;
      const flip = () => {
        this.choices = { ...this.choices, [column.name]: !hidden };
        keep(this.storage("columns"), this.choices);
        this.drawHead();
        this.draw();
      };
      return { label: `${hidden ? "\u2003" : "✓"} ${column.name}`, run: flip };
    });
  }

  async viewItems() {
    const saved = await this.views();
    const here = location.search;
    const path = location.pathname.slice(BASE.length);
    return [
      ...Object.entries(saved).map(([title, query]) => ({
        label: title,
        run: () => go(path + query),
      })),
      Object.keys(saved).length
        ? null
        : { label: "No saved views yet", disabled: "Save one first", run() {} },
      { label: "Save what is shown…", run: () => this.saveView(here) },
      ...Object.keys(saved).flatMap((title) => [
        { label: `Rename “${title}”…`, run: () => this.renameView(title) },
        { label: `Forget “${title}”`, run: () => this.changeViews("DELETE", { title }) },
      ]),
    ];
  }

  async saveView(query) {
    const title = await titled("Save this view", "Save");
    if (title) await this.changeViews("PUT", { title, query });
  }

  async renameView(was) {
    const title = await titled("Rename this view", "Rename", was);
    if (title) await this.changeViews("PUT", { title, was });
  }

  /** Title to query. What this browser had kept before the server did goes there, once; what the
   *  server does not take stays here. */
  async views() {
    const before = this.storage("views");
    let saved;
    try {
      saved = (await fact(this.viewsPath(), {}, this.signal)).views;
    } catch (error) {
      if (!this.signal.aborted) notify(error.message, { error: true });
      return {};
    }
    const left = [];
    for (const [title, query] of Object.entries(recall(before, {}))) {
      if (Object.hasOwn(saved, title)) continue;
      const now = await this.changeViews("PUT", { title, query });
      if (now) saved = now;
      else left.push([title, query]);
    }
    if (left.length) keep(before, Object.fromEntries(left));
    else forget(before);
    return saved;
  }

  /** All views after the change; nothing where the server does not take it. */
  async changeViews(method, view) {
    try {
      return (await tell(method, this.viewsPath(), view)).views;
    } catch (error) {
      notify(error.message, { error: true });
    }
  }

  viewsPath() {
    return `/views/${[this.tenant, fullName(this.resource)].map(encodeURIComponent).join("/")}`;
  }

  saveCsv() {
    save(`${this.resource.resource}.csv`, csv(this.visible(), this.shown()), "text/csv");
  }

  async saveYaml() {
    const { tenant, resource, table, signal } = this;
    const wanted = { keys: new Set(this.shown().map(keyOf)), rows: table.rows.size };
    try {
      const found = await objects(tenant, resource, table.question, wanted, signal);
      save(`${resource.resource}.yaml`, yaml(found), "application/yaml");
    } catch (error) {
      if (!signal.aborted) notify(error.message, { error: true });
    }
  }
}

/** The title that somebody gives a view; nothing where he leaves it. */
function titled(heading, action, title = "") {
  return open(heading, (close) => {
    const input = h("input", {
      type: "text",
      "aria-label": "Name",
      autofocus: true,
      required: true,
      maxlength: 100,
      value: title,
    });
    return h(
      "form",
      { onsubmit: (event) => (event.preventDefault(), close(input.value.trim())) },
      h("label", { class: "field" }, "Name", input),
      h("footer", {}, h("button", { class: "button primary", type: "submit" }, action)),
    );
  });
}

/** What a column of ages shows; null of other columns, and where there is no time. */
function aged(column, row) {
  const time = column.time?.(row);
  if (!time) return null;
  return time.exact ? age(new Date(time.at).toISOString()) : about(time.at);
}
