// A list as the server's Table has it: columns, rows, kept up to date by a watch.

import { api, ApiError, isPassing } from "./api.js";
import { reverseOf } from "./order.js";
import { answers, isAway } from "./outage.js";

export const PAGE = 500; // rows that are asked for at once
const AGAIN = 2000; // milliseconds after which a list is asked for again that the server had no time for
const MOST_DOUBLED = 4; // how often that doubles while it goes on

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
    this.waiting = new Map(); // while it is paused: key -> what has come of the row, as `hold` has it
    this.missed = 0; // how many events these were
    this.paused = false;
    this.goOn = null; // resumes; there where the rows are to be listed anew then
    this.trouble = null; // why the rows are not followed at present
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

  /** Lists, then follows until the signal is aborted. */
  async run(signal) {
    signal.addEventListener("abort", () => this.turn.abort());
    let failures = 0;
    while (!signal.aborted) {
      this.turn = new AbortController();
      const turn = this.turn.signal;
      try {
        const version = await this.load(turn);
        failures = 0;
        await this.follow(version, turn);
      } catch (error) {
        if (signal.aborted) return;
        if (turn.aborted) continue;
        if (error instanceof ApiError && error.code === 410) {
          if (this.paused) await new Promise((resolve) => (this.goOn = resolve)); // it stands still
          continue; // too far behind: list anew
        }
        if (isPassing(error)) {
          this.hear(error);
          await new Promise((resolve) => setTimeout(resolve, AGAIN * 2 ** failures));
          failures = Math.min(failures + 1, MOST_DOUBLED);
          continue;
        }
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
    this.goOn?.();
  }

  /** What keeps it from being live; null for nothing. */
  hear(error) {
    if (this.trouble === error) return;
    this.trouble = error;
    this.schedule();
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
    this.forget();
    this.hear(null);
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

  /** What the list is asked for, whatever page. */
  get question() {
    const sortBy = this.atEnd ? this.reverse : this.sortBy;
    const more = { ...this.options.more, ...(sortBy ? { sortBy } : {}) };
    return { ...this.options, more };
  }

  page(next, signal) {
    const options = { ...this.question, table: true, limit: PAGE, continue: next, signal };
    return api(this.tenant).list(this.resource, options);
  }

  take(table) {
    if (table.columnDefinitions?.length) this.columns = table.columnDefinitions;
    const at = Date.now(); // when the ages that are printed were true
    const rows = (table.rows ?? []).map((row) => [keyOf(row), { ...row, at }]);
    if (this.atEnd) this.rows = new Map([...rows.reverse(), ...this.rows]);
    else for (const [key, row] of rows) this.rows.set(key, row);
    this.more = table.metadata.continue ?? "";
    this.remaining = table.metadata.remainingItemCount ?? 0;
    this.schedule();
  }

  async follow(resourceVersion, signal) {
    const heard = (error) => this.hear(error);
    const options = { ...this.options, table: true, resourceVersion, heard, signal };
    for await (const { type, object } of api(this.tenant).watch(this.resource, options)) {
      const at = Date.now();
      for (const row of object.rows ?? []) {
        if (this.paused) this.hold(type, { ...row, at });
        else this.apply(type, { ...row, at });
      }
      this.schedule();
    }
  }

  /** Keeps what there is to know of a row: whether it has gone, and how it is if it has come since,
   *  not each change on the way: somebody may forget a list of pods that it is paused. */
  hold(type, row) {
    this.missed += 1;
    const key = keyOf(row);
    const known = this.waiting.get(key) ?? { gone: null, now: null, isNew: false };
    if (type !== "DELETED") {
      const isNew = known.isNew || type === "ADDED";
      this.waiting.set(key, { ...known, now: row, isNew });
    } else if (known.isNew) this.waiting.set(key, { ...known, now: null, isNew: false });
    else this.waiting.set(key, { gone: row, now: null, isNew: false });
  }

  resume() {
    this.paused = false;
    for (const { gone, now, isNew } of this.waiting.values()) {
      if (gone) this.apply("DELETED", gone);
      if (now) this.apply(isNew ? "ADDED" : "MODIFIED", now);
    }
    const { goOn } = this;
    this.forget();
    goOn?.();
    this.schedule();
  }

  /** What has come while it was paused. */
  forget() {
    this.waiting.clear();
    this.missed = 0;
    this.goOn = null;
  }

  apply(type, row) {
    const key = keyOf(row);
    if (type === "DELETED") {
      this.fresh.delete(key);
      if (!this.rows.delete(key)) this.remaining = Math.max(0, this.remaining - 1);
      else if (!this.rows.size && this.more) this.again(); // what is left are pages that are not here
    } else if (type === "ADDED" && this.more) {
      this.remaining += 1; // it may belong to a page that is not here
    } else if (type === "ADDED" || this.rows.has(key)) {
      this.rows.set(key, row);
      this.fresh.set(key, row.at);
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
