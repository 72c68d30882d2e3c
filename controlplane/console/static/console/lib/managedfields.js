// Who owns what, by an object's managedFields alone: for those who may not ask the history.

/** Fields as a RevisionBlame has them, without revisions and users: {path, time, owners}. */
export function fieldsOfManaged(entries) {
  const fields = new Map();
  for (const { manager, operation, subresource, time, fieldsV1 } of entries) {
    const owner = { manager, operation, ...(subresource ? { subresource } : {}) };
    for (const path of leaves(fieldsV1 ?? {}, "")) {
      const field = fields.get(path) ?? { path, time, owners: [] };
      field.owners.push(owner);
      if (!field.time || time > field.time) field.time = time;
      fields.set(path, field);
    }
  }
  return [...fields.values()];
}

function leaves(set, text) {
  return Object.entries(set).flatMap(([element, below]) => {
    if (element === ".") return [];
    const path = text + elementText(element);
    const names = Object.keys(below);
    if (!names.length) return [path];
    return leaves(below, path); // "." alone is the container, without what is in it
  });
}

/** `f:name` -> `.name`, `k:{"name":"x"}` -> `[name="x"]`, `v:"x"` -> `[="x"]`, `i:0` -> `[0]`. */
function elementText(element) {
  const text = element.slice(2);
  if (element.startsWith("f:")) return `.${text}`;
  if (element.startsWith("v:")) return `[=${JSON.stringify(JSON.parse(text))}]`;
  if (!element.startsWith("k:")) return `[${text}]`;
  const keys = Object.entries(JSON.parse(text)).sort(([a], [b]) => (a < b ? -1 : 1));
  return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
}
