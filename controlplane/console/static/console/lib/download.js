// What is shown, as a file.

import { api } from "./api.js";
import { h } from "./dom.js";
import { print } from "./yaml.js";

/** RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csv(columns, rows) {
  const cell = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [
    columns.map((column) => column.name),
    ...rows.map((row) => columns.map((c) => c.text(row))),
  ];
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

/** Objects as one List; values of Secrets are left out. */
export function yaml(objects) {
  const items = objects.map((object) => (object.kind === "Secret" ? masked(object) : object));
  return print({ apiVersion: "v1", kind: "List", items }, { ordered: true });
}

function masked(secret) {
  const hidden = (values) =>
    values && Object.fromEntries(Object.keys(values).map((key) => [key, "***"]));
  const { data, stringData, metadata, ...rest } = secret;
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...annotations } =
    metadata.annotations ?? {};
  return {
    ...rest,
    metadata: { ...metadata, annotations },
    ...(data && { data: hidden(data) }),
    ...(stringData && { stringData: hidden(stringData) }),
  };
}

/** The objects of a list, whole and without managedFields, that `wanted` (of "namespace/name") says
 *  are shown. */
export async function objects(tenant, resource, options, wanted, signal) {
  const found = [];
  let next = "";
  do {
    const list = await api(tenant).list(resource, {
      ...options,
      limit: 500,
      continue: next,
      signal,
    });
    for (const item of list.items) {
      const { managedFields, ...metadata } = item.metadata;
      if (!wanted(`${metadata.namespace ?? ""}/${metadata.name}`)) continue;
      const type = { apiVersion: list.apiVersion, kind: resource.kind };
      found.push({ ...type, ...item, metadata });
    }
    next = list.metadata.continue ?? "";
  } while (next);
  return found;
}

/** Has the browser save a text. */
export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
