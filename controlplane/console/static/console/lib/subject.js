// The object that a page is about, kept up to date. Of a Secret only what names it comes here: its
// values are asked for one by one (`reveal`), by a GET of its own.

import { api, ApiError, fieldSelectorOf, pathOf } from "./api.js";

const MASKED = new Set(["data", "stringData"]);
const APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export class Subject {
  /** changed: called whenever there is something else to show. */
  constructor(tenant, resource, namespace, name, changed) {
    Object.assign(this, { tenant, resource, namespace, name, changed });
    this.object = null; // its numbers are those of change/exact.js; null: there is none (any more)
    this.revealed = false;
    this.error = null;
  }

  get api() {
    return api(this.tenant);
  }

  get apiVersion() {
    const { group, version } = this.resource;
    return group ? `${group}/${version}` : version;
  }

  get path() {
    return pathOf(this.resource, { namespace: this.namespace, name: this.name });
  }

  get isSecret() {
    return this.resource.group === "" && this.resource.resource === "secrets";
  }

  /** Where its revisions are. */
  get revisions() {
    const root = "/apis/history.polyplane.dev/v1";
    if (!this.resource.namespaced) return `${root}/clusterrevisions`;
    return `${root}/namespaces/${encodeURIComponent(this.namespace)}/revisions`;
  }

  get revisionsResource() {
    return this.resource.namespaced ? "revisions" : "clusterrevisions";
  }

  /** Whether the user may do something with its revisions, and why not. */
  /** {allowed, reason, question}, as change/ui.js asks it. */
  canRevisions(verb, subresource = "") {
    const { namespace, revisionsResource: resource } = this;
    return this.asked({ verb, group: "history.polyplane.dev", resource, namespace, subresource });
  }

  can(verb, subresource = "") {
    const { group, resource } = this.resource;
    const { namespace, name } = this;
    return this.asked({ verb, group, resource, namespace, name, subresource });
  }

  async asked(question) {
    const { verb, group, resource, ...more } = question;
    return { ...(await this.api.can(verb, group, resource, more)), question };
  }

  /** Whether a value is not to be seen before it is asked for. */
  hides = (path) => {
    if (!this.isSecret || this.revealed) return false;
    return (path.length === 2 && MASKED.has(path[0])) || path.at(-1) === APPLIED;
  };

  /** Loads it; then `follow` keeps it up to date. Throws ApiError for who may not. */
  async load(signal) {
    this.listed = (await this.can("list")).allowed;
    if (!this.listed) {
      this.object = await this.got(signal);
      return;
    }
    const page = await this.api.list(this.resource, { ...this.selected, signal });
    this.version = page.metadata.resourceVersion;
    this.take(this.isSecret ? page.rows?.[0] && secretOf(page, page.rows[0]) : page.items?.[0]);
  }

  async got(signal) {
    try {
      if (!this.isSecret) return await this.api.get(this.path, { exact: true, signal });
      const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
      return masked(await this.api.get(this.path, { accept, signal }));
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return null;
      throw error;
    }
  }

  get selected() {
    const { namespace, name, isSecret: table } = this;
    const fieldSelector = fieldSelectorOf({ "metadata.name": name });
    return { namespace, table, fieldSelector, exact: true };
  }

  async follow(signal) {
    if (!this.listed || !(await this.can("watch")).allowed) return;
    while (!signal.aborted) {
      try {
        const options = { ...this.selected, resourceVersion: this.version, signal };
        for await (const event of this.api.watch(this.resource, options)) {
          this.happened(event);
          this.changed();
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiError && error.code === 410)) throw error;
        await this.load(signal); // too far behind
        this.changed();
      }
    }
  }

  happened({ type, object }) {
    if (object.columnDefinitions?.length) this.columns = object.columnDefinitions;
    const row = object.kind === "Table" ? object.rows[0] : null;
    const found = row ? secretOf({ columnDefinitions: this.columns }, row) : object;
    if (type === "DELETED") this.last = found;
    this.revealed = false;
    this.take(type === "DELETED" ? null : found, false);
  }

  take(found) {
    this.object = found
      ? { apiVersion: this.apiVersion, kind: this.resource.kind, ...found }
      : null;
  }

  /** Asks for the values of a Secret. */
  async reveal() {
    this.object = await this.api.get(this.path, { exact: true });
    this.revealed = true;
  }

  async hide(signal) {
    this.revealed = false;
    await this.load(signal);
  }
}

/** A Secret of a Table's row: its metadata, its type, and the names of its values as far as their
 *  managers tell. */
export function secretOf(table, row) {
  const at = table.columnDefinitions?.findIndex((column) => column.name === "Type") ?? -1;
  return { ...masked(row.object), ...(at >= 0 && row.cells ? { type: row.cells[at] } : {}) };
}

function masked({ metadata }) {
  const names = (metadata.managedFields ?? []).flatMap(({ fieldsV1 }) =>
    ["f:data", "f:stringData"].flatMap((field) => Object.keys(fieldsV1?.[field] ?? {})),
  ).filter((key) => key.startsWith("f:"));
  const data = Object.fromEntries(names.map((name) => [name.slice(2), ""]));
  return { apiVersion: "v1", kind: "Secret", metadata, ...(names.length ? { data } : {}) };
}
