/* One field as it was in a revision, put into an edit of the object as it is now. */

import { editable } from "./configuration.js";
import { get, resolve, set } from "./paths.js";

/** {object, path}: the object of an Edit with one field as another state of it has it, and where the
    field is; undefined where neither has such a field. text: the field as the server names it; then:
    the whole object as it was. Pure. */
export function withEarlier({ schemas, node, base, status }, then, text) {
  const [now, before] = [base, editable(then, { status })].map((o) => schemas.keyed(node, o));
  const there = resolve(text, before);
  const at = there.whole ? there : resolve(text, now);
  if (!at.whole) return undefined;
  const { path } = at;
  return { path, object: set(now, path, there.whole ? get(before, path) : undefined) };
}
