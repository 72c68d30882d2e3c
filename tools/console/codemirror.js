// What the console uses of CodeMirror 6, as one module.
export * from "@codemirror/state";
export * from "@codemirror/view";
export * from "@codemirror/language";
export * from "@codemirror/commands";
export * from "@codemirror/search";
export * from "@codemirror/autocomplete";
export * from "@codemirror/lint";
export * from "@codemirror/merge";
export { yaml, yamlLanguage } from "@codemirror/lang-yaml";
export { tags, tagHighlighter, classHighlighter } from "@lezer/highlight";
