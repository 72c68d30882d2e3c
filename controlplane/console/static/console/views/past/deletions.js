// What was deleted, the newest first, out of several lists of revisions. The server looks through a
// part of the log for each answer, so what is rare takes many, and an answer may be empty.

import { api, fieldSelectorOf } from "../../lib/api.js";

const PAGE = 500; // revisions of an answer; the more, the further one answer looks back
const ROUNDS = 8; // answers of each list before the reader is asked whether to go on
const ENOUGH = 50; // deletions at a time

/** Events end by themselves after an hour. */
const isEvent = ({ resource }) => resource === "events";

export class Deletions {
  /** lists: of views/past/asking.js; kind: "" for all but Events. found: called when there is more
   *  to show. */
  constructor(tenant, lists, kind, signal, found) {
    Object.assign(this, { tenant, kind, signal, found });
    this.open = lists.map((list) => ({ ...list, next: "" })); // that have more to tell
    this.items = []; // Revisions of type DELETED
    this.events = 0; // that are left out
  }

  /** Looks further back, until there is something to look at or the reader has waited enough. */
  async look() {
    const wanted = this.items.length + ENOUGH;
    for (let round = 0; round < ROUNDS && this.open.length; round += 1) {
      await Promise.all(this.open.map((list) => this.page(list)));
      if (this.signal.aborted) return;
      this.open = this.open.filter(({ next }) => next);
      this.items.sort(newestFirst);
      this.found();
      if (this.items.length >= wanted) return;
    }
  }

  async page(list) {
    const { kind, signal } = this;
    const page = await api(this.tenant).list(list.resource, {
      namespace: list.namespace,
      fieldSelector: fieldSelectorOf({
        type: "DELETED",
        ...(kind ? { "object.resource": kind } : {}),
      }),
      limit: PAGE,
      continue: list.next,
      signal,
    });
    const items = page.items ?? [];
    const wanted = kind ? items : items.filter((item) => !isEvent(item));
    this.events += items.length - wanted.length;
    this.items.push(...wanted);
    list.next = page.metadata.continue ?? "";
  }
}

/** By their numbers, which may be greater than those that are exact in JavaScript. */
function newestFirst(one, other) {
  const [a, b] = [one, other].map(({ metadata }) => BigInt(metadata.name));
  return a < b ? 1 : a > b ? -1 : 0;
}
