// unfold's templates under the build of Alpine that evaluates nothing (tools/console/alpine.js). What
// their expressions call are functions of unfold's app.js, which that build does not look for: they
// become data here. The few expressions that its parser does not read, two statements or a function,
// become calls of methods.

/* global getCurrentTab, searchCommand, searchDropdown, searchForm, theme */

const SIDEBAR = "sidebarDesktopOpen";

document.addEventListener("alpine:init", () => {
  const { Alpine } = window;
  const tab = /activeTab: '([^']*)'/.exec(document.body.getAttribute("x-data") ?? "")?.[1];
  Alpine.data("theme", (chosen) => theme(chosen));
  Alpine.data("searchForm", () => searchForm());
  Alpine.data("searchDropdown", () => ({ ...searchDropdown(), ...searching }));
  Alpine.data("searchCommand", () => ({ ...searchCommand(), ...entering }));
  Alpine.data("page", () => page(tab));
  document.body.setAttribute("x-data", "page");
  document.body.removeAttribute("x-init");
  reword("x-on:click", `${SIDEBAR} = !${SIDEBAR};`, () => `${SIDEBAR} = !${SIDEBAR}`);
  reword("x-on:focus", "openSearchResults = true;", () => "begin()");
  reword("x-on:keydown.escape.prevent", "if (", () => "leave()");
  reword("x-on:keydown.enter.prevent", "if (", (given) => given.replace(/^.*\(/, "enter($event, "));
  reword("x-bind:action", "window.location", () => "formAction()");
});

/** Puts others in the place of expressions that have a text. */
function reword(name, part, other) {
  for (const element of document.querySelectorAll(`[${CSS.escape(name)}]`)) {
    const given = element.getAttribute(name);
    if (given.includes(part)) element.setAttribute(name, other(given));
  }
}

/** Of the body. tab: the one that is shown first, undefined on pages without any. */
const page = (tab) => ({
  activeTab: tab ?? "",
  sidebarMobileOpen: false,
  sidebarDesktopOpen: localStorage.getItem(SIDEBAR) !== "0",
  init() {
    if (tab !== undefined) this.activeTab = getCurrentTab() || tab;
    this.$watch(SIDEBAR, (open) => localStorage.setItem(SIDEBAR, open ? "1" : "0"));
  },
  formAction() {
    const here = location.pathname + location.search;
    const { activeTab } = this;
    return activeTab && activeTab !== "general" ? `${here}#${activeTab}` : here;
  },
});

const searching = {
  begin() {
    this.openSearchResults = true;
    this.currentIndex = 0;
  },
  leave() {
    this.openSearchResults = false;
    const { searchInput } = this.$refs;
    if (searchInput.value === "") searchInput.blur();
    else searchInput.value = "";
  },
};

const entering = {
  enter(event, ...chosen) {
    if (!event.metaKey && !event.ctrlKey) this.selectItem(...chosen);
  },
};
