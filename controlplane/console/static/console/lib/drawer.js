// The side on a narrow screen: not there until it is asked for, then above the view. Whether the
// screen is narrow is console.css's to say; on a wide one the button is not shown and the side is.

import { h, svg } from "./dom.js";
import { whenShown } from "./router.js";

const OPEN = "side-open";

/** The button that opens and closes the side, an element of its own. */
export function drawer(side) {
  const button = h(
    "button",
    {
      class: "icon drawer",
      type: "button",
      title: "Tenant, namespace and kinds",
      "aria-label": "Tenant, namespace and kinds",
      "aria-expanded": "false",
      "aria-controls": side.id,
      onclick: () => set(!isOpen()),
    },
    lines(),
  );
  const isOpen = () => document.body.classList.contains(OPEN);
  function set(open) {
    document.body.classList.toggle(OPEN, open);
    button.setAttribute("aria-expanded", String(open));
    if (open) side.querySelector("select").focus();
  }
  function leave(event) {
    if (!isOpen() || side.contains(event.target) || button.contains(event.target)) return;
    set(false);
  }
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isOpen()) return;
    set(false);
    button.focus();
  });
  document.addEventListener("click", leave);
  document.addEventListener("focusin", leave);
  whenShown(() => set(false));
  return button;
}

function lines() {
  return svg(
    "svg",
    { viewBox: "0 0 16 16", width: "18", height: "18", "aria-hidden": "true" },
    svg("path", { d: "M1 3.5h14M1 8h14M1 12.5h14", stroke: "currentColor", "stroke-width": "1.6" }),
  );
}
