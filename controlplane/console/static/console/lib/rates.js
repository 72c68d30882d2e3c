// Writes, refusals and failures of the last hour, minute by minute.

import { h } from "./dom.js";
import { panel } from "./plain.js";
import { exact } from "./time.js";
import { many, number } from "./units.js";

const HOUR = 60;
const HEIGHT = 160; // pixels
const THEMED = "console:themed";

/** A panel with a chart, which is drawn once it is in the page. minutes: rows of [begin in seconds,
 *  writes, refused, failed]; below: nodes that stand under it. */
export function rates(minutes, below = null) {
  const chart = h("div", { class: "chart" });
  const total = (column) => minutes.reduce((sum, row) => sum + row[column], 0);
  const title = `Last hour: ${many(total(1), "write")}, ${total(2)} refused, ${total(3)} failed`;
  requestAnimationFrame(() => draw(chart, minutes));
  return panel(title, chart, below);
}

/** Minutes in which nothing happened are no rows of the answer. */
async function draw(chart, minutes) {
  const now = Math.floor(Date.now() / 60000) * 60;
  const times = Array.from({ length: HOUR }, (_, i) => now - (HOUR - 1 - i) * 60);
  const known = new Map(minutes.map((row) => [row[0], row]));
  const column = (at) => times.map((time) => known.get(time)?.[at] ?? 0);
  const [{ default: Chart }] = await Promise.all([import("../vendor/uplot.js"), style()]);
  const colour = (name) => getComputedStyle(chart).getPropertyValue(name).trim() || "gray";
  const data = [times, column(3), column(2), column(1)];
  // below the chart stands what the pointer is at, and of the whole hour where it is at nothing
  const total = (at) => data[at].reduce((sum, count) => sum + count, 0);
  const value = (_, count, at) => number(count ?? total(at));
  const line = (label, name) => ({ label, stroke: () => colour(name), width: 2, value });
  const axis = { stroke: () => colour("--muted"), grid: { stroke: () => colour("--line"), width: 1 } };
  const time = { ...axis, values: (_, at) => at.map(clock) };
  const spot = { label: "at", value: (_, at) => (at === null ? "last hour" : clock(at)) };
  const drawn = new Chart(
    {
      width: chart.clientWidth || 900,
      height: HEIGHT,
      // later ones are drawn above: what is nought in all minutes is not to look like a failure
      series: [spot, line("failed", "--bad"), line("refused", "--warn"), line("writes", "--accent")],
      axes: [time, { ...axis, size: 56 }],
    },
    data,
    chart,
  );
  const fit = () => drawn.setSize({ width: chart.clientWidth, height: HEIGHT });
  // not while the browser measures: what changes sizes then is an error to it
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(chart);
  const themed = () => (chart.isConnected ? drawn.redraw() : removeEventListener(THEMED, themed));
  addEventListener(THEMED, themed);
}

/** "14:05", in the reader's zone. */
function clock(seconds) {
  return exact(seconds * 1000).slice(11, 16);
}

function style() {
  if (document.querySelector("link[data-chart]")) return undefined;
  const href = new URL("../vendor/uplot.css", import.meta.url).href;
  const link = h("link", { rel: "stylesheet", href, "data-chart": "" });
  const loaded = new Promise((done) => link.addEventListener("load", done, { once: true }));
  document.head.append(link);
  return loaded;
}
