// What a list is narrowed by. Labels, fields and expressions (CEL over self) are the server's
// selectors; columns and words look at what has been loaded.

const REQUIREMENT =
  /^!?\s*[\w./-]+$|^[\w./-]+\s*(=|==|!=)\s*[\w.-]*$|^[\w./-]+\s+(in|notin)\s*\([^()]*\)$|^[\w./-]+\s*[<>]\s*-?\d+$/;

/** What somebody has typed, as {type: "label" | "field" | "cel" | "column" | "word", text, column,
 *  value}. */
export function read(typed, columns) {
  const text = typed.trim();
  const [, kind, rest] = /^(label|field|cel):\s*(.+)$/.exec(text) ?? [];
  if (kind) return { type: kind, text: rest };
  const [, name, value] = /^([^:=]+):\s*(.+)$/.exec(text) ?? [];
  const column =
    name && columns.find((one) => one.name.toLowerCase() === name.trim().toLowerCase());
  if (column)
    return { type: "column", text: `${column.name}: ${value}`, column: column.name, value };
  if (isSelector(text)) return { type: "label", text };
  return { type: "word", text };
}

/** Whether it can only be meant for labels, as `kubectl -l` takes it: "app=web,tier in (a, b),!canary".
 *  The name of a label alone is a word. */
function isSelector(text) {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  return /[=!(<>]/.test(text) && parts.every((part) => REQUIREMENT.test(part));
}

/** Whether a row has all words and column values. A column's value is looked for anywhere in it; with
 *  "=" before it, it is the whole. */
export function fits(row, filters, columns) {
  return filters.every(({ type, text, column, value }) => {
    if (type === "column") {
      const found = columns.find((one) => one.name === column)?.text(row) ?? "";
      return value.startsWith("=")
        ? found === value.slice(1).trim()
        : found.toLowerCase().includes(value.toLowerCase());
    }
    const word = text.toLowerCase();
    return columns.some(
      (one) => (!one.hidden || one.isName) && one.text(row).toLowerCase().includes(word),
    );
  });
}
