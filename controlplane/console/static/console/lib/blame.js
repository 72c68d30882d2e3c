// Who is to blame for which field: the answer of revisions/blame, found again in the object.
//
// The API names fields as managers own them: `.spec.template.spec.containers[name="web"].image`,
// `.metadata.finalizers[="a/b"]`. A member's name may hold dots, so the way goes from the object to
// the text: what a value of the object would be called is known, what a text means is not.

/** The fields of a RevisionBlame by the object's own paths: a function of a path (names and
 *  indexes) to the field that it is of or within, or null. */
export function blamed(object, fields) {
  const byText = new Map(fields.map((field) => [field.path, field]));
  const texts = [...byText.keys()].sort();
  const found = new Map();
  walk(object, [], "");
  return (path) => {
    for (let length = path.length; length > 0; length -= 1) {
      const field = found.get(keyOf(path.slice(0, length)));
      if (field) return field;
    }
    return null;
  };

  function walk(value, path, text) {
    const field = byText.get(text);
    if (field) found.set(keyOf(path), field);
    if (Array.isArray(value)) items(value, path, text);
    else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        walk(member, [...path, name], `${text}.${name}`);
      }
    }
  }

  function items(list, path, text) {
    const selectors = selectorsBelow(texts, text);
    list.forEach((item, at) => {
      const meant = selectors.find((selector) => isMeant(selector, item, at));
      if (meant) walk(item, [...path, at], text + meant.text);
    });
  }
}

function keyOf(path) {
  return JSON.stringify(path);
}

/** What stands in brackets behind a list's path: each {text, keys, value, index}, once. */
function selectorsBelow(texts, prefix) {
  const begin = lowerBound(texts, `${prefix}[`);
  const seen = new Map();
  for (let at = begin; at < texts.length && texts[at].startsWith(`${prefix}[`); at += 1) {
    const text = bracketed(texts[at].slice(prefix.length));
    if (text && !seen.has(text)) seen.set(text, selector(text));
  }
  return [...seen.values()];
}

function lowerBound(texts, wanted) {
  let [low, high] = [0, texts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (texts[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `[...]` at the beginning of a text, whose strings may hold brackets. */
function bracketed(text) {
  return /^\[(?:"(?:[^"\\]|\\.)*"|[^"\]])*\]/.exec(text)?.[0] ?? "";
}

const MEMBER = /([^=,[]+)=("(?:[^"\\]|\\.)*"|[^,\]]+)/g;

function selector(text) {
  const inner = text.slice(1, -1);
  if (inner.startsWith("=")) return { text, value: valueOf(inner.slice(1)) };
  if (/^\d+$/.test(inner)) return { text, index: Number(inner) };
  const keys = [...inner.matchAll(MEMBER)].map(([, name, value]) => [name, valueOf(value)]);
  return { text, keys };
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isMeant({ keys, value, index }, item, at) {
  if (keys) return keys.every(([name, wanted]) => item?.[name] === wanted || isDefault(item, name));
  return index === undefined ? JSON.stringify(item) === JSON.stringify(value) : index === at;
}

/** Keys that may be left out have a default in the schema (a port's protocol: TCP). */
function isDefault(item, name) {
  return typeof item === "object" && item !== null && !(name in item);
}

// --- managers -------------------------------------------------------------------------------------
/** How a manager is called: "helm (apply)", "kube-controller-manager (update, status)". */
export function managerTitle({ manager, operation, subresource }) {
  const how = [operation?.toLowerCase(), subresource].filter(Boolean).join(", ");
  return how ? `${manager} (${how})` : manager;
}

/** The managers that a blame names, each once, those of most fields first: {title, manager,
 *  operation, subresource, count} */
export function managersOf(fields) {
  const seen = new Map();
  for (const field of fields) {
    for (const owner of field.owners ?? []) {
      const title = managerTitle(owner);
      const known = seen.get(title) ?? { ...owner, title, count: 0 };
      known.count += 1;
      seen.set(title, known);
    }
  }
  return [...seen.values()].sort((a, b) => b.count - a.count || (a.title < b.title ? -1 : 1));
}

/** Those whom a server-side apply by `name` meets at a field that it would give another value
 *  ("Conflicts" in the documentation of server-side apply): all owners but what it has applied
 *  itself. An Update of the same name is another manager. */
export function conflictsOf(field, name) {
  const others = (owner) =>
    owner.manager !== name || owner.operation !== "Apply" || owner.subresource;
  return (field?.owners ?? []).filter(others);
}
