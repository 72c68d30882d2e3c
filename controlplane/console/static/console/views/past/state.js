// What there was as of one moment, list after list and page after page, all of the same version. It
// is asked for as Tables: those hold no objects, so no values of Secrets.

import { api, fieldSelectorOf } from "../../lib/api.js";

const PAGE = 100; // rows that are looked for at a time
const MOST = 10; // answers that are asked for to find them: labels may leave answers empty

export class State {
  /** lists: of views/past/asking.js, at least one; asked: {at, kind, labels}, at "" for the
   *  present. */
  constructor(tenant, lists, asked, signal) {
    Object.assign(this, { tenant, asked, signal });
    this.ahead = [...lists]; // that have more to tell
    this.first = lists[0];
    this.version = ""; // that is shown, once it is known
    this.found = []; // rows: the columns of revisions by their names, and `metadata`
  }

  get more() {
    return this.ahead.length > 0;
  }

  /** Finds the next rows. Throws ApiError, 410 where the log does not reach back so far. */
  async look() {
    const wanted = this.found.length + PAGE;
    for (let asked = 0; this.more && this.found.length < wanted && asked < MOST; asked += 1) {
      await this.page(wanted - this.found.length);
    }
  }

  async page(limit) {
    const [list] = this.ahead;
    if (!this.begun) {
      // the present by its version: of a log that was emptied the server knows no times
      if (!this.version && !this.asked.at) this.version = await this.head();
      this.begun = { asOf: this.version || this.asked.at, next: "" };
    }
    const { asOf, next } = this.begun;
    const table = await this.table(list, { asOf }, { limit, continue: next });
    this.version = table.metadata.resourceVersion;
    this.found.push(...rowsOf(table));
    this.begun.next = table.metadata.continue ?? "";
    if (!this.begun.next) {
      this.ahead.shift();
      this.begun = null;
    }
  }

  /** The tenant's version at present. */
  async head() {
    return (await this.table(this.first, {}, { limit: 1 })).metadata.resourceVersion;
  }

  table({ resource, namespace }, fields, options) {
    const { kind, labels } = this.asked;
    const selected = { ...fields, ...(kind ? { "object.resource": kind } : {}) };
    return api(this.tenant).list(resource, {
      namespace,
      table: true,
      fieldSelector: fieldSelectorOf(selected),
      labelSelector: fields.asOf ? labels : "",
      signal: this.signal,
      ...options,
    });
  }
}

function rowsOf({ columnDefinitions, rows }) {
  return (rows ?? []).map(({ cells, object }) => ({
    ...Object.fromEntries(columnDefinitions.map(({ name }, at) => [name, cells[at]])),
    metadata: object.metadata,
  }));
}
