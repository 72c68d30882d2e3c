// The style sheet of these pages, loaded with the first of them.

import { h } from "../../lib/dom.js";

const SHEET = new URL("../../object.css", import.meta.url).pathname;
let loading = null;

export function styled() {
  loading ??= new Promise((resolve) => {
    const link = h("link", { rel: "stylesheet", href: SHEET, onload: resolve, onerror: resolve });
    document.head.append(link);
  });
  return loading;
}
