// What is larger than its place can be scrolled without a mouse: it can have the focus as long as it
// is larger, and is no stop of the Tab key otherwise.

const REGIONS = "section, .code, pre";
const PATIENCE = 200; // milliseconds in which more may change

/** Sees to it for what is in `main`, now and later. */
export function reachable(main) {
  let timer = 0;
  const soon = () => {
    timer ||= setTimeout(() => {
      timer = 0;
      main.querySelectorAll(REGIONS).forEach(look);
    }, PATIENCE);
  };
  new MutationObserver(soon).observe(main, { childList: true, subtree: true });
  addEventListener("resize", soon);
}

function look(region) {
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = region;
  const larger = scrollWidth > clientWidth || scrollHeight > clientHeight;
  const scrolls = larger && !/visible|clip/.test(getComputedStyle(region).overflow);
  if (scrolls && region.tabIndex < 0) {
    region.dataset.scrolls = region.getAttribute("tabindex") ?? "";
    region.tabIndex = 0;
  } else if (!scrolls && "scrolls" in region.dataset) {
    if (region.dataset.scrolls) region.setAttribute("tabindex", region.dataset.scrolls);
    else region.removeAttribute("tabindex");
    delete region.dataset.scrolls;
  }
}
