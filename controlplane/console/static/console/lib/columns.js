// The columns of a list: what the server prints, where the object is, and how each sorts.

const WORDS = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const SECONDS = { s: 1, m: 60, h: 3600, d: 86400, y: 31536000 };
const GOOD =
  /^(running|active|bound|ready|true|succeeded|complete|completed|available|established|approved|issued|enabled)$/i;
const BAD =
  /^(failed|error|false|lost|denied|crashloopbackoff|imagepullbackoff|errimagepull|oomkilled|evicted|expired)$/i;
const WAITING =
  /^(pending|terminating|unknown|suspended|warning|containercreating|released|deleting|progressing)$/i;
const STATES =
  /^(status|phase|state|ready|established|condition|reason|available|suspended|type)$/i;

/** Columns of a Table: {name, description, hidden (unless asked for), value(row), text(row), path};
 *  value is what sorts, text what is shown and written to CSV; path: the JSONPath by which the server
 *  sorts the same, if it is known here. namespaces: with a column for them. */
export function columnsOf(definitions, { namespaces }) {
  const columns = definitions.map((definition, at) => ({
    name: definition.name,
    description: definition.description ?? "",
    hidden: definition.priority > 0,
    numeric: definition.type === "integer" || definition.type === "number",
    isName: definition.name === "Name" && definition.format === "name",
    isAge: definition.name === "Age",
    state: STATES.test(definition.name),
    value: definition.name === "Age" ? born : (row) => row.cells[at],
    text: definition.name === "Age" ? created : (row) => shown(row.cells[at]),
  }));
  if (!columns.some((column) => column.isName) && columns[0]) columns[0].isName = true;
  for (const column of columns) {
    if (column.isName) column.path = ".metadata.name";
    if (column.isAge) column.path = "-.metadata.creationTimestamp";
  }
  if (namespaces) columns.unshift(metadata("Namespace", (object) => object.namespace ?? "", false, ".metadata.namespace"));
  columns.push(
    metadata("Labels", (object) => pairs(object.labels), true),
    metadata("Owner", (object) => owners(object.ownerReferences), true),
    metadata("Finalizers", (object) => (object.finalizers ?? []).join(", "), true),
    metadata("Version", (object) => object.resourceVersion ?? "", true),
    metadata("UID", (object) => object.uid ?? "", true, ".metadata.uid"),
  );
  return columns;
}

function metadata(name, read, hidden, path) {
  const value = (row) => read(row.object?.metadata ?? {});
  return { name, description: "From the object's metadata.", hidden, value, text: value, path };
}

function pairs(labels) {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}

function owners(references) {
  return (references ?? []).map((owner) => `${owner.kind}/${owner.name}`).join(", ");
}

function shown(cell) {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

function created(row) {
  return row.object?.metadata?.creationTimestamp ?? "";
}

/** Older is larger, as in the column. */
function born(row) {
  return -Date.parse(created(row)) || 0;
}

/** "good", "warn" or "bad" for a cell that says a state, else "". */
export function mood(column, text) {
  if (!column.state) return "";
  if (GOOD.test(text)) return "good";
  if (WAITING.test(text)) return "warn";
  return BAD.test(text) || /error|fail|backoff/i.test(text) ? "bad" : "";
}

/** Order of two cells: numbers, durations ("5m3s"), words; what is empty comes last. */
export function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [shown(a), shown(b)];
  if (!one || !other) return (one ? 0 : 1) - (other ? 0 : 1);
  const [first, second] = [seconds(one), seconds(other)];
  if (first !== null && second !== null) return first - second;
  return WORDS.compare(one, other);
}

function seconds(text) {
  if (!/^(\d+[smhdy])+$/.test(text)) return null;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdy])/g)) total += count * SECONDS[unit];
  return total;
}

/** Rows in the order of a column ("-Age": from its end); rows that are equal keep their order. */
export function sorted(rows, columns, by) {
  const name = by.replace(/^-/, "");
  const column = columns.find((one) => one.name === name);
  if (!column) return rows;
  const sign = by.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => sign * compare(column.value(a), column.value(b)));
}
