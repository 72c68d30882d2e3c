// CodeMirror for YAML, in a shadow root: there its styles need no inline style element, which the
// Content-Security-Policy forbids.

import {
  autocompletion,
  bracketMatching,
  completionKeymap,
  Compartment,
  defaultKeymap,
  drawSelection,
  EditorState,
  EditorView,
  foldGutter,
  foldKeymap,
  highlightActiveLine,
  highlightSelectionMatches,
  HighlightStyle,
  history,
  historyKeymap,
  indentUnit,
  indentWithTab,
  keymap,
  lineNumbers,
  lintKeymap,
  MergeView,
  search,
  searchKeymap,
  syntaxHighlighting,
  tags,
  yaml,
} from "../vendor/codemirror.js";
import { h } from "./dom.js";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--code-key)" },
  { tag: tags.definition(tags.propertyName), color: "var(--code-key)" },
  { tag: [tags.string, tags.content], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--code-value)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)" },
]);
const look = EditorView.theme({
  "&": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    height: "100%",
    fontSize: "12.5px",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)", padding: "6px 0" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    {
      backgroundColor: "var(--selected)",
    },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-textfield": { backgroundColor: "var(--surface)", color: "var(--text)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--hover)", color: "var(--text)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    maxWidth: "520px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
  },
  ".cm-completionInfo": { whiteSpace: "pre-wrap" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", border: "none", color: "var(--muted)" },
  ".cm-changedLine": { backgroundColor: "var(--changed) !important" },
  ".cm-deletedChunk, .cm-merge-a .cm-changedLine": { backgroundColor: "var(--removed) !important" },
});

function common(readOnly) {
  return [
    lineNumbers(),
    foldGutter(),
    drawSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    bracketMatching(),
    history(),
    search({ top: true }),
    autocompletion(),
    indentUnit.of("  "),
    yaml(),
    syntaxHighlighting(colours),
    look,
    keymap.of([
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...lintKeymap,
      ...(readOnly ? [] : [indentWithTab]),
      ...defaultKeymap,
    ]),
    EditorState.readOnly.of(readOnly),
    EditorView.editable.of(!readOnly),
    EditorView.contentAttributes.of({ "aria-label": "YAML", tabindex: "0" }),
  ];
}

/** An editor: {element, view, text(), put(text), configure(extensions)}. extensions: further ones
 *  of CodeMirror (gutters, linters, completion), which `configure` replaces. */
export function editor(text, { readOnly = false, extensions = [] } = {}) {
  const element = h("div", { class: "editor" });
  const root = element.attachShadow({ mode: "open" });
  const own = new Compartment();
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: text, extensions: [own.of(extensions), ...common(readOnly)] }),
  });
  return {
    element,
    view,
    text: () => view.state.doc.toString(),
    put: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    configure: (next) => view.dispatch({ effects: own.reconfigure(next) }),
  };
}

/** Two texts beside each other, with what differs marked and what is the same folded. */
export function difference(before, after) {
  const element = h("div", { class: "editor difference" });
  const root = element.attachShadow({ mode: "open" });
  const view = new MergeView({
    a: { doc: before, extensions: common(true) },
    b: { doc: after, extensions: common(true) },
    root,
    parent: root,
    collapseUnchanged: { margin: 3, minSize: 6 },
    gutter: true,
  });
  return { element, view };
}
