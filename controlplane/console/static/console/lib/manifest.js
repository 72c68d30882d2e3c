// An object as the lines that kubectl prints for it (`-o yaml`), each with the path of its field.
//
// The rules are those of sigs.k8s.io/yaml (a go-yaml v2): members sorted, lists as far to the left
// as their key, text quoted only where it would be read as something else. Long lines are left
// whole, so that a line is a field.

import { Exact, isMap } from "../change/exact.js";
import { less } from "./naturalorder.js";

/** Lines of a value, each {parts, path, end, depth}: parts: [kind, text] where kind is "space",
 *  "key", "mark", "text", "number", "word" (true, null) or "hidden"; path: names and indexes of the
 *  field; end: behind the last line that belongs to this field, which is the next one where there
 *  is nothing to fold. hidden(path, value): whether a value shows as `••••••`. */
export function manifest(value, { hidden = () => false } = {}) {
  const lines = [];
  new Printer(lines, hidden).node(value, [], 0, null);
  return lines;
}

/** The text of such lines. */
export function textOf(lines) {
  return lines.map(lineText).join("\n") + "\n";
}

export function lineText(line) {
  return line.parts.map(([, text]) => text).join("");
}

class Printer {
  constructor(lines, hidden) {
    this.lines = lines;
    this.hidden = hidden;
  }

  /** Prints a value from `column` on; lead: parts of its first line that are there already. */
  node(value, path, column, lead) {
    if (isMap(value) && Object.keys(value).length) this.map(value, path, column, lead);
    else if (Array.isArray(value) && value.length) this.list(value, path, column, lead);
    else this.scalar(value, path, column, lead ?? []);
  }

  map(value, path, column, lead) {
    for (const name of Object.keys(value).sort(less)) {
      const begun = lead ?? space(column);
      lead = null;
      this.member(name, value[name], [...path, name], column, begun);
    }
  }

  member(name, value, path, column, begun) {
    const parts = [...begun, ["key", plainOrQuoted(name, true)], ["mark", ":"]];
    const nested =
      (isMap(value) && Object.keys(value).length) || (Array.isArray(value) && value.length);
    if (!nested || this.hidden(path, value)) {
      this.scalar(value, path, column + 2, [...parts, ["space", " "]]);
      return;
    }
    const line = this.line(parts, path);
    this.node(value, path, Array.isArray(value) ? column : column + 2, null);
    line.end = this.lines.length;
  }

  list(value, path, column, lead) {
    value.forEach((item, at) => {
      const begun = lead ?? space(column);
      lead = null;
      const first = this.lines.length;
      this.node(item, [...path, at], column + 2, [...begun, ["mark", "- "]]);
      const line = this.lines[first];
      line.end = Math.max(line.end, this.lines.length);
    });
  }

  scalar(value, path, column, lead) {
    if (this.hidden(path, value)) {
      this.line([...lead, ["hidden", "••••••"]], path);
      return;
    }
    const block = typeof value === "string" && value.includes("\n") && mayBeBlock(value);
    if (!block) {
      this.line([...lead, [kindOf(value), scalarText(value)]], path);
      return;
    }
    const line = this.line([...lead, ["mark", `|${hints(value)}`]], path);
    const texts = value.split("\n");
    if (texts.at(-1) === "") texts.pop();
    for (const text of texts) {
      this.line(text ? [...space(column || 2), ["text", text]] : [], path);
    }
    line.end = this.lines.length;
  }

  line(parts, path) {
    const line = { parts, path, end: this.lines.length + 1 };
    this.lines.push(line);
    return line;
  }
}

function space(column) {
  return column ? [["space", " ".repeat(column)]] : [];
}

function kindOf(value) {
  if (typeof value === "string") return "text";
  return typeof value === "number" || value instanceof Exact ? "number" : "word";
}

function scalarText(value) {
  if (typeof value === "string") return plainOrQuoted(value, false);
  if (Array.isArray(value)) return "[]";
  if (isMap(value)) return "{}";
  return typeof value === "number" || value instanceof Exact ? numberText(value) : String(value);
}

const [LEAST, MOST] = [-(2n ** 63n), 2n ** 64n];

/** Whole numbers that 64 bits hold as they are; any other as the double that kubectl makes of it, in
 *  the shortest form of strconv.FormatFloat's 'g', which has an exponent from 1e+06 on. */
function numberText(value) {
  const double = Number(value);
  if (!Number.isFinite(double)) return String(value);
  const whole = wholeOf(String(value), double);
  if (whole !== null && LEAST <= whole && whole < MOST) return String(whole);
  const [digits, exponent] = double.toExponential().split("e");
  if (-4 <= exponent && exponent < 6) return String(double);
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

function wholeOf(text, double) {
  if (!Number.isInteger(double) || Math.abs(double) >= 1e21) return null;
  const exact = /^-?\d+$/.test(text) ? BigInt(text) : null;
  return exact !== null && LEAST <= exact && exact < 2n ** 63n ? exact : BigInt(String(double));
}

// --- how text is written (yaml_emitter_analyze_scalar, yaml_emitter_select_scalar_style) ---------
function plainOrQuoted(text, isKey) {
  const seen = analyze(text);
  if (text.includes("\n")) return doubleQuoted(text);
  if (isSomethingElse(text)) return doubleQuoted(text);
  if (seen.plain && !(isKey && text === "")) return text;
  return seen.single ? `'${text.replaceAll("'", "''")}'` : doubleQuoted(text);
}

function mayBeBlock(text) {
  return analyze(text).block;
}

const INDICATORS = new Set("#,[]{}&*!|>'\"%@`");
const UNPRINTABLE = /[^\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;

function analyze(text) {
  const characters = [...text];
  const blank = (at) => at >= characters.length || /[ \t\n\x85\u2028\u2029]/.test(characters[at]);
  let indicators = /^(---|\.\.\.)/.test(text);
  characters.forEach((character, at) => {
    if (at === 0 && INDICATORS.has(character)) indicators = true;
    if (at === 0 && "?:-".includes(character) && blank(1)) indicators = true;
    if (at > 0 && character === ":" && blank(at + 1)) indicators = true;
    if (at > 0 && character === "#" && blank(at - 1)) indicators = true;
  });
  const around = /^[ \n]|[ \n]$/.test(text);
  const special = UNPRINTABLE.test(text) || text.includes("\ufeff");
  const spaceThenBreak = / \n/.test(text);
  const breakThenSpace = /\n /.test(text);
  return {
    plain: !indicators && !around && !special && !text.includes("\n"),
    single: !special && !spaceThenBreak && !breakThenSpace,
    block: !special && !spaceThenBreak && !text.endsWith(" "),
  };
}

function hints(text) {
  const indent = /^[ \n]/.test(text) ? "2" : "";
  if (!text.endsWith("\n")) return `${indent}-`;
  return text === "\n" || text.endsWith("\n\n") ? `${indent}+` : indent;
}

const WORDS = new Set(
  ["", "~", "<<", "y", "Y", "n", "N"].concat(
    ["yes", "true", "on", "no", "false", "off", "null", ".nan", ".inf", "+.inf", "-.inf"].flatMap(
      (word) => [word, word.toUpperCase(), word.replace(/[a-z]/, (c) => c.toUpperCase())],
    ),
    [".NaN"],
  ),
);
const NUMBERS = [
  /^[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[0-9]+)$/,
  /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/,
];
const SEXAGESIMAL = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/;
const TIMESTAMP =
  /^\d{4}-\d{1,2}-\d{1,2}([Tt]\d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?(Z|[-+]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(\.\d+)?)?$/;

/** Whether YAML would read the text as no string (go-yaml's resolve). */
function isSomethingElse(text) {
  if (WORDS.has(text)) return true;
  if (SEXAGESIMAL.test(text) || TIMESTAMP.test(text)) return true;
  const number = /^[-+.0-9]/.test(text) ? text.replaceAll("_", "") : "";
  return NUMBERS.some((expression) => expression.test(number));
}

const ESCAPES = {
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  '"': '\\"',
  "\\": "\\\\",
  "\x85": "\\N",
  "\xa0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function doubleQuoted(text) {
  const written = [...text].map((character) => {
    if (ESCAPES[character] && character !== "\xa0") return ESCAPES[character];
    if (!UNPRINTABLE.test(character) && character !== "\ufeff") return character;
    const code = character.codePointAt(0);
    if (code <= 0xff) return `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
    if (code <= 0xffff) return `\\u${code.toString(16).toUpperCase().padStart(4, "0")}`;
    return `\\U${code.toString(16).toUpperCase().padStart(8, "0")}`;
  });
  return `"${written.join("")}"`;
}
