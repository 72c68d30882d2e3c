// What a list is narrowed by. Labels, fields and expressions (CEL over self) are the server's
// selectors; columns and words look at what has been loaded.

const LABEL = /^!?[\w./-]+$|^[\w./-]+\s*(=|==|!=)\s*[\w.-]*$|^[\w./-]+\s+(in|notin)\s*\([^)]*\)$/;

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
  if (/[=!(]/.test(text) && LABEL.test(text)) return { type: "label", text };
  return { type: "word", text };
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
