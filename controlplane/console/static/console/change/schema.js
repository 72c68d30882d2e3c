/* What an OpenAPI v3 document of the tenant says of a kind's fields.

   A node is a schema of the document with its references followed: {type, properties, items,
   additionalProperties, description, enum, required, default, x-kubernetes-*}. Pure. */

import { clone, has, isMap, put } from "./exact.js";

const GVK = "x-kubernetes-group-version-kind";
const PREFIX = "#/components/schemas/";

export class Schemas {
  /** document: {components: {schemas}} */
  constructor(document) {
    this.schemas = document?.components?.schemas ?? {};
  }

  /** The node of a kind, {group, version, kind}; undefined where the document has none. */
  root({ group, version, kind }) {
    for (const name of Object.keys(this.schemas)) {
      const kinds = this.schemas[name][GVK] ?? [];
      const found = kinds.some((k) => k.group === group && k.version === version && k.kind === kind);
      if (found) return this.node(this.schemas[name]);
    }
    return undefined;
  }

  /** A schema with what it refers to; what it says itself comes first. */
  node(schema, depth = 0) {
    if (!isMap(schema) || depth > 16) return undefined;
    const parts = [...(schema.allOf ?? [])];
    if (schema.$ref?.startsWith(PREFIX)) parts.push(this.schemas[schema.$ref.slice(PREFIX.length)]);
    if (!parts.length) return schema;
    let node = {};
    for (const part of parts) node = { ...node, ...this.node(part, depth + 1) };
    const { allOf, $ref, ...own } = schema;
    return { ...node, ...own };
  }

  /** The node of a member of a map, or of the items of a list (a step that is no string). */
  child(node, step) {
    if (!node) return undefined;
    if (typeof step !== "string") return this.node(node.items);
    if (has(node.properties, step)) return this.node(node.properties[step]);
    return isMap(node.additionalProperties) ? this.node(node.additionalProperties) : undefined;
  }

  at(node, path) {
    return path.reduce((n, step) => this.child(n, step), node);
  }

  /** The values of an item of a list that tell it from the others, with the defaults of those that
      it leaves out: {key: {...}}; undefined where one is missing. */
  key(node, item) {
    const items = this.node(node.items);
    const key = {};
    for (const name of node["x-kubernetes-list-map-keys"] ?? []) {
      const value = has(item, name) ? item[name] : this.child(items, name)?.default;
      if (value === undefined || !isMap(item)) return undefined;
      put(key, name, value);
    }
    return { key };
  }

  /** A copy in which the items of lists have all of their keys, those with defaults too, as the
      server stores them. */
  keyed(node, value) {
    if (Array.isArray(value)) {
      const list = listType(node) === "map";
      return value.map((item) => {
        const key = list && isMap(item) ? this.key(node, item)?.key : {};
        return { ...this.keyed(this.child(node, 0), item), ...key };
      }).map((made, at) => (isMap(value[at]) ? made : value[at]));
    }
    if (!isMap(value)) return value;
    const copy = {};
    for (const k of Object.keys(value)) put(copy, k, this.keyed(this.child(node, k), value[k]));
    return copy;
  }

  /** The least that a schema asks for: required fields, with defaults, first choices of enums, or
      empty values of their types. */
  skeleton(node, depth = 0) {
    if (!node) return {};
    if (node.default !== undefined) return clone(node.default);
    if (node.enum?.length) return node.enum[0];
    if (node.type === "array") {
      return (node.minItems ?? 0) > 0 ? [this.skeleton(this.child(node, 0), depth + 1)] : [];
    }
    if (node.type === "integer" || node.type === "number") return node.minimum ?? 0;
    if (node.type === "boolean") return false;
    if (node.type === "string" || node["x-kubernetes-int-or-string"]) return "";
    const made = {};
    for (const name of depth > 12 ? [] : node.required ?? []) {
      put(made, name, this.skeleton(this.child(node, name), depth + 1));
    }
    return made;
  }
}

/** "map", "set" or "atomic"; lists of which the schema says nothing are atomic (KEP-555). */
export function listType(node) {
  const type = node?.["x-kubernetes-list-type"];
  return type === "map" || type === "set" ? type : "atomic";
}

/** Whether a map is one value to the server. */
export function isAtomicMap(node) {
  return node?.["x-kubernetes-map-type"] === "atomic";
}

/** The type as a person names it: "string", "list of Container", "map of string". */
export function typeName(node) {
  if (!node) return "";
  if (node["x-kubernetes-int-or-string"] || node.format === "int-or-string") {
    return "integer or string";
  }
  if (node.type === "array") return `list of ${node.items?.type ?? "objects"}`;
  if (isMap(node.additionalProperties)) return `map of ${node.additionalProperties.type ?? "objects"}`;
  if (node.format && node.type !== "object") return `${node.type} (${node.format})`;
  return node.type ?? "";
}
