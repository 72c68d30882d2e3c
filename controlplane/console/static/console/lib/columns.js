// The columns of a list: what the server prints, where the object is, and how each sorts.

import { duration } from "./time.js";
import { quantity } from "./units.js";

const WORDS = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const SECONDS = { s: 1, m: 60, h: 3600, d: 86400, y: 31536000 };
const UNIT = /^[-+]?[\d.]+([numkMGTPE]|[KMGTPE]i)$/;
const GOOD =
  /^(running|active|bound|ready|true|succeeded|complete|completed|available|established|approved|issued|enabled)$/i;
const BAD =
  /^(failed|error|false|lost|denied|crashloopbackoff|imagepullbackoff|errimagepull|oomkilled|evicted|expired)$/i;
const WAITING =
  /^(pending|terminating|unknown|suspended|warning|containercreating|released|deleting|progressing)$/i;
const STATES =
  /^(status|phase|state|ready|established|condition|reason|available|suspended|type)$/i;

/** Columns of built-in kinds that show ages of other times than the object's own. */
const AGES = /^(Last Seen|First Seen|Last Schedule)$/;

/** Columns of a Table: {name, description, hidden (unless asked for), value(row), text(row), time(row),
 *  path}; value is what sorts, text what is shown and written to CSV; time, of those that show ages:
 *  {at, exact}, null for none; path: the JSONPath by which the server sorts the same, if it is known
 *  here. namespaces: with a column for them. */
export function columnsOf(definitions, { namespaces }) {
  const columns = definitions.map(printed);
  if (!columns.some((column) => column.isName) && columns[0]) columns[0].isName = true;
  for (const column of columns) {
    if (column.isName) column.path = ".metadata.name";
    if (column.isAge) column[column.isOwn ? "path" : "likely"] = "-.metadata.creationTimestamp";
  }
  const given = new Set(columns.map((column) => column.name));
  const more = (name, read, hidden, path) =>
    metadata(given.has(name) ? `${name} (metadata)` : name, read, hidden, path);
  if (namespaces) columns.unshift(more("Namespace", (object) => object.namespace ?? "", false, ".metadata.namespace"));
  columns.push(
    more("Labels", (object) => pairs(object.labels), true),
    more("Owner", (object) => owners(object.ownerReferences), true),
    more("Finalizers", (object) => (object.finalizers ?? []).join(", "), true),
    more("Version", (object) => object.resourceVersion ?? "", true),
    more("UID", (object) => object.uid ?? "", true, ".metadata.uid"),
  );
  return columns;
}

/** What the server prints. Age of a built-in kind is the object's own; a definition may call so what
 *  it likes, a person's years or the time since a backup: there the cell says what it is. */
function printed({ name, description = "", priority, type, format }, at) {
  const isAge = name === "Age" && (type === "string" || type === "date");
  const isOwn = isAge && type === "string";
  const column = {
    name,
    description,
    isAge,
    isOwn,
    hidden: priority > 0,
    numeric: type === "integer" || type === "number",
    isName: name === "Name" && format === "name",
    state: STATES.test(name),
    value: (row) => row.cells[at],
    text: (row) => shown(row.cells[at]),
  };
  if (!isAge && type !== "date" && !AGES.test(name)) return column;
  const time = (row) => (isOwn ? own(row) : told(row, row.cells[at], isAge));
  const value = (row) => (time(row) ? -time(row).at : row.cells[at]); // older is larger
  return { ...column, time, value, text: (row) => written(time(row), row.cells[at]) };
}

function own(row) {
  const at = Date.parse(row.object?.metadata?.creationTimestamp ?? "");
  return Number.isNaN(at) ? null : { at, exact: true };
}

const SKEW = 60; // seconds that clocks may differ

/** When it was, by the age that a cell said when it came. ofOwn: it may be the object's own age; that
 *  is known exactly. */
function told(row, cell, ofOwn) {
  const past = seconds(shown(cell));
  if (past === null) return null;
  const at = (row.at ?? Date.now()) - past * 1000;
  const born = ofOwn ? own(row) : null;
  const unit = SECONDS[shown(cell).at(-1)];
  return born && Math.abs(born.at - at) <= (unit + SKEW) * 1000 ? born : { at, exact: false };
}

function written(time, cell) {
  if (!time) return shown(cell);
  return time.exact ? new Date(time.at).toISOString().replace(".000Z", "Z") : duration(Date.now() - time.at);
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

/** "good", "warn" or "bad" for a cell that says a state, else "". */
export function mood(column, text) {
  if (!column.state) return "";
  if (GOOD.test(text)) return "good";
  if (WAITING.test(text)) return "warn";
  return BAD.test(text) || /error|fail|backoff/i.test(text) ? "bad" : "";
}

/** Order of two cells: numbers, durations ("5m3s"), quantities ("500Mi"), words; what is empty comes
 *  last. */
export function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [shown(a), shown(b)];
  if (!one || !other) return (one ? 0 : 1) - (other ? 0 : 1);
  const [first, second] = [seconds(one), seconds(other)];
  if (first !== null && second !== null) return first - second;
  if (UNIT.test(one) || UNIT.test(other)) {
    const [less, more] = [quantity(one), quantity(other)];
    if (!Number.isNaN(less) && !Number.isNaN(more)) return less - more;
  }
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
