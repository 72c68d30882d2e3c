// Dark or light before the first paint: what was chosen, else what the system prefers.
// A script of its own, and no module: modules run after the document has been shown.
(() => {
  let chosen = "";
  try {
    chosen = localStorage.getItem("theme") || "";
  } catch {
    // storage is switched off: the system's preference stands
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
