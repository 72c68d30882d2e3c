// What is shown, as a file.

import { api } from "./api.js";
import { h } from "./dom.js";
import { manifest, textOf } from "./manifest.js";
import { secretOf } from "./subject.js";
import { PAGE } from "./table.js";


const NUMBER = /^-?\d+(\.\d+)?$/;

/** RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export function csv(columns, rows) {
  const cell = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = [
    columns.map((column) => column.name),
    ...rows.map((row) => columns.map((c) => c.text(row))),
  ];
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

/** Objects as one List, as kubectl prints it; values of Secrets are left out. */
export function yaml(objects) {
  const items = objects.map((object) => (object.kind === "Secret" ? masked(object) : object));
  return textOf(manifest({ apiVersion: "v1", items, kind: "List", metadata: { resourceVersion: "" } }));
}

function masked(secret) {
  const hidden = (values) =>
    values && Object.fromEntries(Object.keys(values).map((key) => [key, "***"]));
  const { data, stringData, metadata, ...rest } = secret;
  const annotations = { ...metadata.annotations };
  delete annotations["kubectl.kubernetes.io/last-applied-configuration"];
  const given = Object.keys(annotations).length ? { annotations } : {};
  const { annotations: _, ...others } = metadata;
  return {
    ...rest,
    metadata: { ...others, ...given },
    ...(data && { data: hidden(data) }),
    ...(stringData && { stringData: hidden(stringData) }),
  };
}

/** The objects of a list that are wanted, {keys: a set of "namespace/name", rows: how many rows of the
 *  list had been loaded}, whole and without managedFields;
 *  of Secrets without their values, which are not asked for. options: of the list, as it was asked
 *  for; the pages that were, and one more for what has come since, are looked through. */
export async function objects(tenant, resource, options, wanted, signal) {
  const found = [];
  const isSecret = resource.group === "" && resource.resource === "secrets";
  const most = Math.ceil(wanted.rows / PAGE) + 1;
  let next = "";
  for (let page = 0; page < most && found.length < wanted.keys.size; page += 1) {
    const asked = { ...options, table: isSecret, exact: true, limit: PAGE, continue: next, signal };
    const list = await api(tenant).list(resource, asked);
    const items = isSecret ? list.rows.map((row) => secretOf(list, row)) : list.items;
    for (const item of items) {
      const { managedFields, ...metadata } = item.metadata;
      if (!wanted.keys.has(`${metadata.namespace ?? ""}/${metadata.name}`)) continue;
      const type = { apiVersion: list.apiVersion, kind: resource.kind };
      found.push({ ...type, ...item, metadata });
    }
    next = list.metadata.continue ?? "";
    if (!next) break;
  }
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
