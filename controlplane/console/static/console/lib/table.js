// A list as the server's Table has it: columns, rows, kept up to date by a watch.

import { api, ApiError } from "./api.js";
import { reverseOf } from "./order.js";
import { answers, isAway } from "./outage.js";

export const PAGE = 500; // rows that are asked for at once

/** Rows of one resource. `changed` is called, once for what comes together, whenever there is
 *  something else to show. */
export class LiveTable {
  /** order: promises what the server is to sort by where not all rows are here ("": what it
   *  cannot be asked for). */
  constructor(tenant, resource, options, changed, order = async () => "") {
    Object.assign(this, { tenant, resource, options, changed, order });
    this.sortBy = ""; // what the server has sorted by
    this.wantsEnd = false; // whether its last rows are to be here, not its first
    this.reverse = null; // what turns its order round; null: nothing, or all rows are here
    this.atEnd = false; // whether it is the last rows that are here
    this.endless = false; // whether it was asked for its end, and the server gave its beginning
    this.loads = 0; // how often it has listed anew
    this.turn = new AbortController(); // ended to list anew
    this.columns = [];
    this.rows = new Map(); // "namespace/name" -> row
    this.waiting = [];
    this.paused = false;
    this.more = ""; // token of the next page
    this.remaining = 0; // rows on the server beyond those that are here
    this.error = null;
    this.fresh = new Map(); // key -> when it changed
    this.scheduled = false;
  }

  /** Whether there are more rows than a page, and one can begin at either end. */
  get hasEnd() {
    return this.reverse !== null;
  }

  /** How many events wait while the table is paused. */
  get missed() {
    return this.waiting.length;
  }

  /** Lists, then follows until the signal is aborted. */
  async run(signal) {
    signal.addEventListener("abort", () => this.turn.abort());
    while (!signal.aborted) {
      this.turn = new AbortController();
      const turn = this.turn.signal;
      try {
        const version = await this.load(turn);
        await this.follow(version, turn);
      } catch (error) {
        if (signal.aborted) return;
        if (turn.aborted) continue;
        if (error instanceof ApiError && error.code === 410) continue; // too far behind: list anew
        if (isAway()) {
          await answers(); // the rows that are here stay
          continue;
        }
        this.error = error;
        this.schedule();
        return;
      }
    }
  }

  /** Lists anew, in the order that is wanted now. */
  again() {
    this.turn.abort();
  }

  async load(signal) {
    this.sortBy = "";
    this.atEnd = false;
    this.reverse = null;
    this.endless = false;
    let table = await this.page("", signal);
    if (table.metadata.continue) {
      this.sortBy = await this.order(table.columnDefinitions);
      const across = this.resource.namespaced && !this.options.namespace;
      this.reverse = reverseOf(this.sortBy, across);
      this.atEnd = this.wantsEnd && this.hasEnd;
      if (this.sortBy || this.atEnd) table = await this.page("", signal);
      if (this.atEnd && !this.sortBy && !isReversed(table.rows)) {
        this.atEnd = false; // of a server of others that does not sort: its first page
        this.reverse = null;
        this.endless = true;
      }
    }
    signal.throwIfAborted();
    this.loads += 1;
    this.rows.clear();
    this.waiting = [];
    this.take(table);
    return table.metadata.resourceVersion;
  }

  /** The next page, below what is there, or above it where that is the end; all anew where its state is no longer known. */
  async loadMore() {
    const { signal } = this.turn;
    try {
      const page = await this.page(this.more, signal);
      if (!signal.aborted) this.take(page);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError && error.code === 410)) throw error;
      this.again();
    }
  }

  page(next, signal) {
    const sortBy = this.atEnd ? this.reverse : this.sortBy;
    const more = { ...this.options.more, ...(sortBy ? { sortBy } : {}) };
    const options = { ...this.options, more, table: true, limit: PAGE, continue: next, signal };
    return api(this.tenant).list(this.resource, options);
  }

  take(table) {
    if (table.columnDefinitions?.length) this.columns = table.columnDefinitions;
    const rows = (table.rows ?? []).map((row) => [keyOf(row), row]);
    if (this.atEnd) this.rows = new Map([...rows.reverse(), ...this.rows]);
    else for (const [key, row] of rows) this.rows.set(key, row);
    this.more = table.metadata.continue ?? "";
    this.remaining = table.metadata.remainingItemCount ?? 0;
    this.schedule();
  }

  async follow(resourceVersion, signal) {
    const options = { ...this.options, table: true, resourceVersion, signal };
    for await (const event of api(this.tenant).watch(this.resource, options)) {
      if (this.paused) this.waiting.push(event);
      else this.apply(event);
      this.schedule();
    }
  }

  resume() {
    this.paused = false;
    for (const event of this.waiting.splice(0)) this.apply(event);
    this.schedule();
  }

  apply({ type, object }) {
    for (const row of object.rows ?? []) {
      const key = keyOf(row);
      if (type === "DELETED") {
        if (!this.rows.delete(key)) this.remaining = Math.max(0, this.remaining - 1);
      } else if (type === "ADDED" && this.more) {
        this.remaining += 1; // it may belong to a page that is not here
      } else if (type === "ADDED" || this.rows.has(key)) {
        this.rows.set(key, row);
        this.fresh.set(key, Date.now());
      }
    }
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.changed();
    });
  }
}

/** Whether the rows go from the end of the usual order towards its beginning. */
function isReversed(rows = []) {
  if (rows.length < 2) return true;
  const [first, last] = [rows[0], rows.at(-1)].map(({ object: { metadata } }) => metadata);
  const [one, other] = [first, last].map(({ namespace = "" }) => namespace);
  return one === other ? first.name >= last.name : one > other;
}

export function keyOf(row) {
  const { namespace = "", name = "" } = row.object?.metadata ?? {};
  return `${namespace}/${name}`;
}
