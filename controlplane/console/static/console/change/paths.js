/* Paths of fields.

   A path is an array of steps: a string is a member of an object, a number is an index, {key: {...}}
   is the item of a list whose keys have these values, {value} is an item of a set. Paths as servers
   print them (structured-merge-diff: `.spec.containers[name="c"].image`; validation:
   `spec.containers[0].image`, `metadata.labels[a/b]`) do not quote member names, so they can be read
   only beside the object that they are about. Pure. */

import { clone, equal, has, isMap, parse, put, stringify } from "./exact.js";

const KEYED = /^([\w.-]+)=("(?:[^"\\]|\\.)*"|[^,\]]+)/;

/** Whether two steps, or two paths, are the same. */
export function same(a, b) {
  return equal(a, b);
}

/** The index of the item of a list that a step means; -1 where there is none. */
export function indexOf(list, step) {
  if (!Array.isArray(list)) return -1;
  if (typeof step === "number") return step < list.length ? step : -1;
  if (has(step, "value")) return list.findIndex((item) => equal(item, step.value));
  return list.findIndex((item) => Object.keys(step.key).every((k) => (
    has(item, k) ? equal(item[k], step.key[k]) : step.key[k] === null)));
}

/** What is at a path; undefined where nothing is. */
export function get(object, path) {
  let value = object;
  for (const step of path) {
    if (typeof step === "string") {
      if (!has(value, step)) return undefined;
      value = value[step];
    } else {
      const index = indexOf(value, step);
      if (index < 0) return undefined;
      value = value[index];
    }
  }
  return value;
}

/** A copy of the object with a value at a path; undefined removes what is there. What leads there is
    made where it is missing, an item of a list with its keys. */
export function set(object, path, value) {
  if (!path.length) return clone(value);
  const copy = clone(object);
  place(copy, path, value);
  return copy;
}

function place(at, [step, ...rest], value) {
  const inner = rest.length > 0;
  if (typeof step === "string") {
    if (!inner && value === undefined) delete at[step];
    else if (!inner) put(at, step, clone(value));
    else {
      if (!has(at, step)) {
        if (value === undefined) return;
        put(at, step, typeof rest[0] === "string" ? {} : []);
      }
      place(at[step], rest, value);
    }
    return;
  }
  const index = indexOf(at, step);
  if (value === undefined) {
    if (index >= 0) inner ? place(at[index], rest, value) : at.splice(index, 1);
    return;
  }
  if (!inner) index >= 0 ? at.splice(index, 1, clone(value)) : at.push(clone(value));
  else {
    if (index < 0) at.push(step.key ? clone(step.key) : {});
    place(index < 0 ? at[at.length - 1] : at[index], rest, value);
  }
}

/** As a person reads it: `spec.containers[name=c].image`. */
export function show(path) {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (typeof step !== "string") text += `[${inside(step)}]`;
    else if (/^[A-Za-z0-9_-]+$/.test(step)) text += text ? `.${step}` : step;
    else text += `[${step}]`;
  }
  return text || "(the whole object)";
}

function inside(step) {
  if (has(step, "value")) return `=${plain(step.value)}`;
  return Object.keys(step.key).map((k) => `${k}=${plain(step.key[k])}`).join(",");
}

function plain(value) {
  return typeof value === "string" ? value : stringify(value);
}

/** The path that a server's text means in an object, or the longest part of it that can be found
    there: {path, whole}. */
export function resolve(text, object) {
  const start = text.startsWith(".") || text.startsWith("[") ? text : `.${text}`;
  const best = { path: [], whole: start === "." };
  walk(start === "." ? "" : start, object, [], best);
  return best;
}

/** Tries every reading of the text, the longest member names first. True when it came to the end. */
function walk(rest, value, path, best) {
  if (path.length > best.path.length) best.path = path;
  if (rest === "") {
    best.path = path;
    best.whole = true;
    return true;
  }
  return readings(rest, value).some(([step, length, inner]) =>
    walk(rest.slice(length), inner, [...path, step], best));
}

/** [step, characters, value there] of every way to read the next step. */
function readings(rest, value) {
  if (rest.startsWith(".")) {
    return isMap(value) ? members(rest, 1, value, /^(?:$|[.[])/) : [];
  }
  if (!rest.startsWith("[")) return [];
  if (isMap(value)) {
    return members(rest, 1, value, /^\]/).map(([step, length, v]) => [step, length + 1, v]);
  }
  return Array.isArray(value) ? items(rest, value) : [];
}

function members(rest, skip, value, after) {
  return Object.keys(value)
    .filter((k) => rest.startsWith(k, skip) && after.test(rest.slice(skip + k.length)))
    .sort((a, b) => b.length - a.length)
    .map((k) => [k, skip + k.length, value[k]]);
}

function items(rest, list) {
  const index = /^\[(\d+)\]/.exec(rest);
  if (index) {
    const at = Number(index[1]);
    return at < list.length ? [[at, index[0].length, list[at]]] : [];
  }
  const valued = /^\[=("(?:[^"\\]|\\.)*"|[^\]]+)\]/.exec(rest);
  if (valued) return found(list, { value: literal(valued[1]) }, valued[0].length);
  const step = { key: {} };
  let at = 1;
  for (;;) {
    const pair = KEYED.exec(rest.slice(at));
    if (!pair) return [];
    step.key[pair[1]] = literal(pair[2]);
    at += pair[0].length;
    if (rest[at] === "]") return found(list, step, at + 1);
    if (rest[at] !== ",") return [];
    at += 1;
  }
}

/** An item that leaves a key out, because it has a default, is meant where no other one is. */
function found(list, step, length) {
  let index = indexOf(list, step);
  if (index < 0 && step.key) {
    index = list.findIndex((item) => isMap(item) && Object.keys(step.key).some((k) => has(item, k))
      && Object.keys(step.key).every((k) => !has(item, k) || equal(item[k], step.key[k])));
  }
  return index < 0 ? [] : [[step, length, list[index]]];
}

function literal(text) {
  try {
    return parse(text);
  } catch {
    return text;
  }
}
