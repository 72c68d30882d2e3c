/* An edit from opening to storing: what is asked of the server, and what its answers mean. */

import { configuration, editable, imposed, notDone, taken, whole } from "./configuration.js";
import { get, set, show } from "./paths.js";
import { rebase } from "./rebase.js";
import { conflicts, kindOf, onlyWith } from "./refusals.js";
import { APPLY, JSON_TYPE } from "./requests.js";
import { fetchObject, send, statusOf } from "./wire.js";

/** Why something is not stored. kind: as `refusals.kindOf` has it; fields: those in conflict. */
export class Refusal extends Error {
  constructor(kind, status, { fields = [], sent } = {}) {
    super(status.message ?? "refused");
    Object.assign(this, { kind, status, fields, sent });
  }
}

function refusal(error, sent) {
  const status = statusOf(error);
  const kind = kindOf(status);
  return new Refusal(kind, status, { sent, fields: kind === "conflict" ? conflicts(status, sent) : [] });
}

export class Edit {
  /** kind: {tenant, resource, schemas, node}; at: {namespace, name}. */
  constructor(kind, at, live) {
    Object.assign(this, kind, { at, live, left: [] });
    this.status = !kind.resource.subresources.includes("status");
  }

  static async open(kind, at, signal) {
    return new Edit(kind, at, await fetchObject(kind.tenant, kind.resource, { ...at, signal }));
  }

  /** What is edited of the live object. */
  get base() {
    return editable(this.live, { status: this.status });
  }

  /** What storing would do, after the server has tried it: {request, manager, force, answer, imposed,
      differences, warnings, beyond}; undefined where nothing differs. beyond: fields because of which
      it is an update, not an apply. takeOver: from other managers. Throws Refusal. */
  async review(mine, manager, takeOver = false) {
    const plan = configuration(this.schemas, this.node, this.live, mine, manager, this.left);
    if (!plan.differences.length) return undefined;
    let { beyond } = plan;
    if (!plan.foreign) {
      const review = await this.apply(plan.object, manager, takeOver);
      beyond = notDone(this.schemas, this.node, beyond, review.answer);
      if (!beyond.length) return this.told(review, mine, plan, []);
    }
    await this.askOwners(plan, manager, takeOver);
    const request = { method: "PUT", type: JSON_TYPE, body: whole(this.live, mine) };
    const review = await this.attempt({ request, manager, force: false });
    return this.told(review, mine, plan, plan.foreign ? plan.differences : beyond);
  }

  /** The dry run of an apply. What only this manager's own updates stand in the way of, it takes. */
  async apply(body, manager, force) {
    const request = { method: "PATCH", type: APPLY, body };
    try {
      return await this.attempt({ request, manager, force });
    } catch (error) {
      if (force || error.kind !== "conflict") throw error;
      await this.checkFresh();
      if (!onlyWith(error.fields, manager)) throw error;
      return this.attempt({ request, manager, force: true });
    }
  }

  /** The server tells of conflicts before it looks at the version: they are worth asking about only
      where they are about what is stored now. */
  async checkFresh() {
    const now = await this.fetched();
    if (now.metadata.resourceVersion !== this.live.metadata.resourceVersion) {
      throw new Refusal("stale", { message: "the object has been modified" });
    }
  }

  async fetched() {
    try {
      return await fetchObject(this.tenant, this.resource, this.at);
    } catch (error) {
      throw refusal(error);
    }
  }

  async attempt(asked) {
    return { ...asked, ...await this.sent(asked, true) };
  }

  async sent({ request, manager, force }, dryRun) {
    try {
      return await send(this.tenant, this.resource, this.at, request, { dryRun, manager, force });
    } catch (error) {
      throw refusal(error, request.body);
    }
  }

  /** An update asks nobody: so that fields which others have applied are not taken by accident, it
      waits for the same choice. */
  async askOwners({ differences }, manager, takeOver) {
    const fields = taken(this.live, differences, manager)
      .map(({ path, managers }) => ({ path, managers, text: show(path) }));
    if (fields.length && !takeOver) {
      await this.checkFresh();
      const message = "It has fields that others have applied.";
      throw new Refusal("conflict", { message }, { fields });
    }
  }

  told(review, mine, { differences }, beyond) {
    const added = imposed(this.schemas, this.node, mine, review.answer);
    return { ...review, differences, beyond, imposed: added };
  }

  /** Stores what was reviewed: on the state that was reviewed, or not at all. The stored object. */
  async store(review) {
    const { answer, warnings } = await this.sent(review, false);
    this.live = answer;
    this.left = [];
    return { answer, warnings };
  }

  /** The edit without a field that its owners shall keep. */
  leave(mine, path) {
    this.left.push(path);
    const { schemas, node } = this;
    return set(schemas.keyed(node, mine), path, get(schemas.keyed(node, this.base), path));
  }

  /** Puts the edit onto what is stored now: {object, conflicts, differences}, of which the last are
      theirs. Throws Refusal ("gone"), also where another object has the name by now. */
  async rebase(mine) {
    const theirs = await this.fetched();
    if (theirs.metadata.uid !== this.live.metadata.uid) {
      throw new Refusal("gone", { message: "It was deleted; another object has its name now." });
    }
    const base = this.base;
    this.live = theirs;
    const [b, t, m] = [base, this.base, mine].map((o) => this.schemas.keyed(this.node, o));
    return { ...rebase(this.schemas, this.node, b, t, m), base: b, theirs: t };
  }
}

/** A new object: the dry run, then the creation. */
export class Creation {
  constructor(kind, namespace) {
    Object.assign(this, kind, { at: { namespace } });
  }

  async review(mine, manager) {
    if (this.resource.namespaced && typeof mine.metadata?.namespace === "string") {
      this.at = { namespace: mine.metadata.namespace };
    }
    const request = { method: "POST", type: JSON_TYPE, body: mine };
    const asked = { request, manager, force: false };
    const review = { ...asked, ...await this.sent(asked, true) };
    const added = imposed(this.schemas, this.node, mine, review.answer);
    return { ...review, differences: [], beyond: [], imposed: added };
  }

  sent(asked, dryRun) {
    return Edit.prototype.sent.call(this, asked, dryRun);
  }

  store(review) {
    return this.sent(review, false);
  }
}
