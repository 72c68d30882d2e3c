/* What a Status of the server means for an edit. Pure. */

import { resolve } from "./paths.js";

const OWNER = /^conflict with ("(?:[^"\\]|\\.)*")(?: with subresource ("(?:[^"\\]|\\.)*"))?(?: using (\S+))?/;
const UNKNOWN = /(unknown|duplicate) field "((?:[^"\\]|\\.)*)"/g;
const UNDECLARED = /(?:^|: |\n\s*)(\.\S+): ([^\n]+)/g;

/** "conflict" (others own fields), "stale" (the object is another one by now), "gone", "exists",
    "full" (a quota of the tenant or of the namespace), "forbidden", "invalid" (fields are named), or
    "refused". */
export function kindOf(status) {
  const causes = status.details?.causes ?? [];
  if (causes.some((cause) => cause.reason === "FieldManagerConflict")) return "conflict";
  if (status.reason === "Conflict") return status.message?.includes("uid") ? "gone" : "stale";
  if (status.reason === "NotFound") return "gone";
  if (status.reason === "AlreadyExists") return "exists";
  if (status.reason === "Forbidden" && status.message?.includes("exceeded quota: ")) return "full";
  if (status.reason === "Forbidden" && !causes.length) return "forbidden";
  return places(status, {}).length ? "invalid" : "refused";
}

/** The fields in conflict: [{text, path, managers: [{manager, subresource, apiVersion}]}]; apiVersion
    is there for updates, an apply has none. configuration: what was sent, in which they are found. */
export function conflicts(status, configuration) {
  const fields = new Map();
  for (const cause of status.details?.causes ?? []) {
    if (cause.reason !== "FieldManagerConflict") continue;
    const text = cause.field ?? "";
    const field = fields.get(text) ?? { text, path: resolve(text, configuration).path, managers: [] };
    field.managers.push(managerOf(cause.message ?? ""));
    fields.set(text, field);
  }
  return [...fields.values()];
}

function managerOf(message) {
  const found = OWNER.exec(message);
  if (!found) return { manager: message };
  const [, name, subresource, apiVersion] = found;
  return {
    manager: unquote(name),
    ...(subresource && { subresource: unquote(subresource) }),
    ...(apiVersion && { apiVersion }),
  };
}

function unquote(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/** Whether all that stands in the way is the manager itself, by updates of its own. */
export function onlyWith(fields, manager) {
  return fields.length > 0
    && fields.every((field) => field.managers.every((m) => m.manager === manager));
}

/** The places that a refusal names, in the object that was sent: [{path, whole, message}]; whole
    says that the named field itself is there, else the path leads to the nearest one that is. */
export function places(status, object) {
  const found = [];
  const message = status.message ?? "";
  for (const cause of status.details?.causes ?? []) {
    if (cause.field) found.push({ ...resolve(cause.field, object), text: cause.field,
      message: cause.message ?? "" });
  }
  if (!found.length) {
    for (const [, what, quoted] of message.matchAll(UNKNOWN)) {
      const text = unquote(`"${quoted}"`);
      found.push({ ...resolve(text, object), text, message: `${what} field` });
    }
  }
  if (!found.length && message.startsWith("failed to create typed patch object")) {
    for (const [, text, said] of message.matchAll(UNDECLARED)) {
      found.push({ ...resolve(text, object), text, message: said });
    }
  }
  return unique(found);
}

function unique(list) {
  const seen = new Set();
  return list.filter(({ text, message }) => {
    const key = JSON.stringify([text, message]);
    return !seen.has(key) && seen.add(key);
  });
}
