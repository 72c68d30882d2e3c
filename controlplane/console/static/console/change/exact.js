/* Values of the API as JavaScript has them, without losing anything on the way.

   An object of the API is: null, true and false, strings, arrays, plain objects, and numbers. A
   number that a double would change (2^53 + 1, 1.0, 1e400) is an `Exact`, which keeps its text;
   every other number is JavaScript's own. Pure. */

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORDS = new Map([["true", true], ["false", false], ["null", null]]);

/** A number as its text says it. */
export class Exact {
  constructor(text) {
    this.text = text;
    Object.freeze(this);
  }

  toString() {
    return this.text;
  }
}

/** The number of a JSON text: JavaScript's own where that writes the same text again. */
export function number(text) {
  const value = Number(text);
  return String(value) === text ? value : new Exact(text);
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  fail() {
    throw new SyntaxError(`no JSON at character ${this.at}`);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) this.fail();
    this.at = pattern.lastIndex;
    return found[0];
  }

  /** Whether the next sign is this one, which is then read. */
  sign(character) {
    this.match(SPACE);
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  expect(character) {
    if (!this.sign(character)) this.fail();
  }

  value() {
    if (this.sign("{")) return this.object();
    if (this.sign("[")) return this.array();
    if (this.text[this.at] === '"') return JSON.parse(this.match(STRING));
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return number(this.match(NUMBER));
  }

  object() {
    const found = {};
    if (this.sign("}")) return found;
    do {
      this.match(SPACE);
      const key = JSON.parse(this.match(STRING));
      this.expect(":");
      put(found, key, this.value());
    } while (this.sign(","));
    this.expect("}");
    return found;
  }

  array() {
    const found = [];
    if (this.sign("]")) return found;
    do found.push(this.value());
    while (this.sign(","));
    this.expect("]");
    return found;
  }
}

/** Sets a member, also one that is called `__proto__`. */
export function put(object, key, value) {
  if (key === "__proto__") {
    Object.defineProperty(object, key,
      { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** The value of a JSON text. Throws SyntaxError. */
export function parse(text) {
  const reader = new Reader(text);
  const value = reader.value();
  reader.match(SPACE);
  if (reader.at !== text.length) reader.fail();
  return value;
}

/** JSON, each number with the text that it came with. */
export function stringify(value) {
  if (value instanceof Exact) return value.text;
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  if (isMap(value)) {
    const members = Object.keys(value).map((k) => `${JSON.stringify(k)}:${stringify(value[k])}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

export function isMap(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    && !(value instanceof Exact);
}

/** Whether an object of the API has the member, whatever its prototype has. */
export function has(value, key) {
  return isMap(value) && Object.hasOwn(value, key);
}

/** Whether both say the same. Numbers are compared by their text, members in any order. */
export function equal(a, b) {
  if (a instanceof Exact || b instanceof Exact) {
    return isNumber(a) && isNumber(b) && String(a) === String(b);
  }
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((v, i) => equal(v, b[i]));
  }
  if (isMap(a)) {
    const keys = Object.keys(a);
    return isMap(b) && keys.length === Object.keys(b).length
      && keys.every((k) => has(b, k) && equal(a[k], b[k]));
  }
  return a === b;
}

function isNumber(value) {
  return typeof value === "number" || value instanceof Exact;
}

/** A copy that shares nothing which can change. */
export function clone(value) {
  if (Array.isArray(value)) return value.map(clone);
  if (!isMap(value)) return value;
  const copy = {};
  for (const key of Object.keys(value)) put(copy, key, clone(value[key]));
  return copy;
}
