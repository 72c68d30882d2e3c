/* The editor of an object's YAML: CodeMirror, with completion and descriptions from the kind's
   schema, and with what is wrong marked where it is. */

import {
  EditorState, EditorView, Prec, forceLinting, hoverTooltip, keymap, lintGutter, linter,
} from "../vendor/codemirror.js";
import { h } from "../lib/dom.js";
import { editor as bare } from "../lib/editor.js";
import { isMap } from "./exact.js";
import { completions, complaints } from "./advice.js";
import { linePaths, placeAt } from "./cursor.js";
import { typeName } from "./schema.js";
import { rangeOf, read } from "./text.js";

const LOOK = EditorView.theme({
  ".field-help": { padding: "6px 10px", maxWidth: "480px", whiteSpace: "pre-wrap",
    fontFamily: "var(--sans)", fontSize: "12.5px", maxHeight: "300px", overflow: "auto" },
  ".field-help p": { margin: "4px 0 0" },
  ".field-help i": { color: "var(--muted)", fontStyle: "normal" },
  ".cm-completionDetail": { color: "inherit", opacity: 0.7, fontStyle: "normal" },
});

/** {element, view, text(), put(text), accuse(places), reveal(path)}. kind: {schemas, node}; options:
    {readOnly, typed(text), at(path, node), submit()}. */
export function editor(text, kind, { readOnly = false, typed, at, submit }) {
  let accused = [];
  const advice = [{ autocomplete: (context) => complete(context, kind) }];
  const schemaAt = (path) => kind.schemas.at(kind.node, path);
  const made = bare(text, { readOnly, extensions: [
    LOOK,
    Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => { submit?.(); return true; } }])),
    EditorState.languageData.of(() => advice), // the same one always: a new source starts anew
    linter((v) => problems(v.state, kind, accused), { delay: 300 }),
    lintGutter(),
    hoverTooltip((v, offset) => tooltip(v, offset, schemaAt)),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        accused = [];
        typed?.(update.state.doc.toString());
      }
      if (update.docChanged || update.selectionSet) tellPlace(update.state, schemaAt, at);
    }),
  ] });
  return {
    ...made,
    /** Marks what the server refused: [{path, whole, text, message}]. */
    accuse: (places) => { accused = places; forceLinting(made.view); },
    reveal: (path) => reveal(made.view, path),
  };
}

function complete(context, kind) {
  const text = context.state.doc.toString();
  const place = placeAt(text, context.pos);
  if (place.at === "text" || (!context.explicit && !place.word)) return null;
  const options = completions(kind, text, place).map((option) => ({
    ...option, info: option.info ? () => h("div", { class: "field-help" }, option.info) : undefined,
  }));
  return options.length ? { from: place.from, options, validFor: /^[\w./-]*$/ } : null;
}

function problems(state, kind, accused) {
  const text = state.doc.toString();
  const { value, document, problems: syntax } = read(text);
  if (value === undefined) {
    return syntax.map(({ from, to, message }) => ({ ...within(state, from, to), severity: "error", message }));
  }
  const found = isMap(value) ? complaints(kind, value) : [];
  const mark = (severity) => ({ path, whole, text: named, message }) => {
    const { from, to } = rangeOf(document, path);
    return { ...within(state, from, to), severity, message: whole ? message : `${named}: ${message}` };
  };
  return [...accused.map(mark("error")), ...found.map(mark("warning"))];
}

function within(state, from, to) {
  const end = Math.min(to, state.doc.length);
  return { from: Math.min(from, end), to: end };
}

function pathAt(state, at) {
  const line = state.doc.lineAt(at);
  return linePaths(state.doc.sliceString(0, line.to)).at(-1);
}

function tellPlace(state, schemaAt, tell) {
  if (!tell) return;
  const path = pathAt(state, state.selection.main.head);
  tell(path, schemaAt(path));
}

function tooltip(view, at, schemaAt) {
  const path = pathAt(view.state, at);
  const node = schemaAt(path);
  const line = view.state.doc.lineAt(at);
  if (!node?.description || !line.text.includes(":")) return null;
  return { pos: line.from + line.text.search(/\S/), above: true, create: () => ({
    dom: h("div", { class: "field-help" }, h("b", {}, `${path.at(-1)} `), h("i", {}, typeName(node)),
      h("p", {}, node.description)),
  }) };
}

function reveal(view, path) {
  const { document } = read(view.state.doc.toString());
  const { from } = rangeOf(document, path);
  const anchor = Math.min(from, view.state.doc.length);
  view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
  view.focus();
}
