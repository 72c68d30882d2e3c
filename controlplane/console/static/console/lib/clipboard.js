// What takes a text along.

import { notify } from "./dialog.js";
import { button } from "./plain.js";

/** A button that puts a text into the clipboard, and says that it has. what: the text's name. */
export function copier(text, what) {
  const copy = async ({ target }) => {
    try {
      await navigator.clipboard.writeText(text);
      target.textContent = "Copied";
    } catch (error) {
      notify(error.message, { error: true }); // the browser does not let pages write there
    }
  };
  return button("Copy", copy, { title: `Copy ${what}` });
}
