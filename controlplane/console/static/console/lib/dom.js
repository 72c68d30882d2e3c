// Elements from data. Strings become text nodes, never markup.

/** An element. attributes: `class`, `on<Event>` functions, `dataset`, properties that have no
 *  attribute (`value`, `checked`, `disabled`, `indeterminate`), or attributes as they are; null,
 *  undefined and false are left out. children: nodes, text, nested arrays; null and false are none. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** A name that is broken, where it is too long for its place, behind its colons and slashes first. */
export function breakable(name) {
  return name.split(/(?<=[:/])/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));
}

/** As `h`, in SVG's namespace. */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

const PROPERTIES = new Set(["value", "checked", "disabled", "indeterminate", "selected", "open"]);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on") && typeof value === "function") {
    element.addEventListener(name.slice(2).toLowerCase(), value);
  } else if (name === "dataset") {
    Object.assign(element.dataset, value);
  } else if (PROPERTIES.has(name)) {
    element[name] = value;
  } else if (name === "href" || name === "src") {
    element.setAttribute(name, safeAddress(value));
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Addresses of the web and of this server; what would run as a script leads nowhere. */
function safeAddress(value) {
  const address = String(value);
  if (/^(\/(?!\/)|#|\?|\.)/.test(address)) return address;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1].toLowerCase();
  return ["http", "https", "mailto", "blob"].includes(scheme) ? address : "#";
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** Puts these in the place of what the element holds. */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** As `replace`, of what is drawn many times a second: children that look as before stay where they
 *  are, and with them the focus, a selection of text and a click whose button is still down. What
 *  they do when clicked has to be true of all that look so. */
export function renew(element, ...children) {
  const [before, after] = [[...element.childNodes], nodes(children)];
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && before[head].isEqualNode(after[head])) head += 1;
  let tail = 0;
  while (tail < least - head && before.at(-1 - tail).isEqualNode(after.at(-1 - tail))) tail += 1;
  const next = tail ? before[before.length - tail] : null;
  for (const node of before.slice(head, before.length - tail)) node.remove();
  for (const node of after.slice(head, after.length - tail)) element.insertBefore(node, next);
  return element;
}

/** Has the element hold these nodes in this order. Those that it holds already are not taken out of
 *  the document where they need not be. */
export function arrange(element, wanted) {
  const kept = new Set(wanted);
  for (const node of [...element.childNodes]) if (!kept.has(node)) node.remove();
  let at = element.firstChild;
  for (const node of wanted) {
    if (at && at !== node && at.nextSibling === node) {
      const moved = at; // to somewhere below: that one goes, not all that come before it now
      at = node;
      moved.remove();
    }
    if (at === node) at = at.nextSibling;
    else element.insertBefore(node, at);
  }
}
