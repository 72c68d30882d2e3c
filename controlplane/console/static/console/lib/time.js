// Ages, as kubectl prints them, and the exact time on hover.

import { h } from "./dom.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in milliseconds as k8s.io/apimachinery duration.HumanDuration has it: "5m3s", "3d4h". */
export function duration(milliseconds) {
  const ms = Math.max(0, milliseconds);
  const whole = (unit) => Math.floor(ms / unit);
  const both = (large, small, names) => {
    const rest = Math.floor((ms % large) / small);
    return rest ? `${whole(large)}${names[0]}${rest}${names[1]}` : `${whole(large)}${names[0]}`;
  };
  if (ms < 2 * MINUTE) return `${whole(SECOND)}s`;
  if (ms < 10 * MINUTE) return both(MINUTE, SECOND, "ms");
  if (ms < 3 * HOUR) return `${whole(MINUTE)}m`;
  if (ms < 8 * HOUR) return both(HOUR, MINUTE, "hm");
  if (ms < 2 * DAY) return `${whole(HOUR)}h`;
  if (ms < 8 * DAY) return both(DAY, HOUR, "dh");
  if (ms < 2 * 365 * DAY) return `${whole(DAY)}d`;
  if (ms < 8 * 365 * DAY) return both(365 * DAY, DAY, "yd");
  return `${whole(365 * DAY)}y`;
}

/** The age of a time (RFC 3339), which stays right while it is shown; "" for none. */
export function age(time) {
  const at = Date.parse(time ?? "");
  if (Number.isNaN(at)) return h("time", {}, time ?? "");
  const text = duration(Date.now() - at);
  return h("time", { datetime: time, title: exact(at), "data-age": String(at) }, text);
}

/** The age of a time that is known by an age alone, in milliseconds since 1970. */
export function about(at) {
  const title = `about ${exact(at)}`;
  return h("time", { title, "data-age": String(at) }, duration(Date.now() - at));
}

/** "2026-11-23 14:05:09 UTC+1", in the reader's zone. */
export function exact(at) {
  const date = new Date(at);
  const two = (number) => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${day} ${clock} UTC${offset(-date.getTimezoneOffset())}`;
}

/** Minutes: 60 -> "+1", -210 -> "-3:30", 0 -> "". */
function offset(minutes) {
  if (!minutes) return "";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "-" : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

setInterval(() => {
  for (const element of document.querySelectorAll("time[data-age]")) {
    const text = duration(Date.now() - Number(element.dataset.age));
    if (element.firstChild.nodeValue !== text) element.firstChild.nodeValue = text;
  }
}, 1000);
