/* Where a place in a YAML text is in the object, also while the text is being typed and no parser
   would take it: by indentation. Block style only; in {a: 1} and [1, 2] the path ends before it. Pure. */

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s:#'"[\]{}&*!|>%@][^:#]*(?::(?=\S)[^:#]*)*)\s*:(?=\s|$)/;
const DASH = /^-(?:\s+|$)/;
const BLOCK = /^[|>][-+0-9]*\s*(?:#.*)?$/;

class Stack {
  constructor() {
    this.entries = [];
    this.literal = -1;
  }

  path() {
    return this.entries.map((entry) => entry.step);
  }

  /** Leaves what ends where a line of this indentation begins. */
  leave(indent) {
    while (this.entries.length && this.entries.at(-1).indent >= indent) this.entries.pop();
  }

  dash(indent) {
    while (this.entries.length && this.entries.at(-1).indent > indent) this.entries.pop();
    const last = this.entries.at(-1);
    if (last?.indent === indent && typeof last.step === "number") last.step += 1;
    else this.entries.push({ indent, step: 0 });
  }

  /** Takes a line; gives back what is left of it behind dashes, and at which column that is. */
  dashes(line) {
    let indent = line.length - line.trimStart().length;
    let rest = line.trimStart();
    for (let dash = DASH.exec(rest); dash; dash = DASH.exec(rest)) {
      this.dash(indent);
      indent += dash[0].length;
      rest = rest.slice(dash[0].length);
    }
    return { indent, rest };
  }

  /** Takes a whole line; its path. */
  line(line) {
    const blank = !line.trim();
    const outer = line.length - line.trimStart().length;
    if (this.literal >= 0 && (blank || outer > this.literal)) return this.path();
    this.literal = -1;
    if (blank || line.trimStart().startsWith("#")) return this.path();
    const { indent, rest } = this.dashes(line);
    const key = KEY.exec(rest);
    if (key) {
      this.leave(indent);
      this.entries.push({ indent, step: unquote(key[1]) });
    }
    if (BLOCK.test(key ? rest.slice(key[0].length).trim() : rest)) {
      this.literal = key || rest !== line.trimStart() ? this.entries.at(-1)?.indent ?? 0 : outer;
    }
    return this.path();
  }
}

function unquote(key) {
  if (key.startsWith("'")) return key.slice(1, -1).replaceAll("''", "'");
  if (!key.startsWith('"')) return key.trim();
  try {
    return JSON.parse(key);
  } catch {
    return key;
  }
}

/** The path of each line of a text. */
export function linePaths(text) {
  const stack = new Stack();
  return text.split("\n").map((line) => stack.line(line));
}

/** What is being typed at a place: {path, at, key, word, from}. path: of the map or list around it;
    at: "key", "value" of the key, or "text" (in a block of text or a comment); word: what stands
    between `from` and the place. */
export function placeAt(text, offset) {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const stack = new Stack();
  if (start) text.slice(0, start - 1).split("\n").forEach((line) => stack.line(line));
  const typed = text.slice(start, offset);
  const outer = typed.length - typed.trimStart().length;
  const nowhere = { path: stack.path(), at: "text", key: undefined, word: "", from: offset };
  if ((stack.literal >= 0 && outer > stack.literal) || /(?:^|\s)#/.test(typed)) return nowhere;
  const { indent, rest } = stack.dashes(typed);
  const key = KEY.exec(rest);
  if (!key) {
    stack.leave(indent);
    return { path: stack.path(), at: "key", key: undefined, word: rest, from: offset - rest.length };
  }
  stack.leave(indent);
  const word = rest.slice(key[0].length).trimStart();
  return { path: stack.path(), at: "value", key: unquote(key[1]), word, from: offset - word.length };
}
