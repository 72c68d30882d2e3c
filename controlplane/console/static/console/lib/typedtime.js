// Times as people type them, and as the console shows them. Pure.

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 };
const UNIT = "(?:s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|w|weeks?|y|years?)";
const AGO = new RegExp(`^(?:\\d+ ?${UNIT} ?)+(?:ago)?$`, "i");
const PART = /(\d+) ?([smhdwy])/gi;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;
const DAY = "(\\d{4})-(\\d\\d)-(\\d\\d)";
const CLOCK = "(\\d\\d?):(\\d\\d)(?::(\\d\\d)(?:\\.\\d+)?)?";
const ZONE = "Z|UTC|(?:UTC)?([+-]\\d{1,2}(?:\\.\\d+)?)(?::?(\\d\\d))?";
const WHEN = new RegExp(`^(?:${DAY})?[T ]?(?:${CLOCK})? ?(${ZONE})?$`, "i");
const WHOLE_DAY = 86_400_000; // milliseconds

/** What can be typed, in words. */
export const EXAMPLES = "10m, 2 hours ago, 14:05, 2026-01-31 14:05, 2026-01-31T14:05:00Z";

/** The time that a text means, as APIs take it (RFC 3339); "" for the present, null where it is none.
 *  What has no zone is meant in the reader's; a clock without a day is the last time that it was. */
export function timeOf(text, now = Date.now()) {
  const typed = text.trim();
  if (!typed || /^now$/i.test(typed)) return "";
  if (RFC_3339.test(typed)) return typed;
  const at = AGO.test(typed) ? now - ago(typed) : moment(typed, now);
  return at === null || Math.abs(at) > 8.64e15 ? null : written(at);
}

function ago(text) {
  return [...text.matchAll(PART)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * SECONDS[unit.toLowerCase()] * 1000, 0);
}

function moment(text, now) {
  const found = WHEN.exec(text);
  if (!found || (found[1] === undefined && found[4] === undefined)) return null;
  const [year, month, day, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7).map((part) => (part === undefined ? undefined : Number(part)));
  if (hour > 23 || minute > 59 || second > 59) return null;
  const offset = offsetOf(found);
  const at = (...date) => (offset === null
    ? new Date(...date, hour, minute, second).getTime()
    : Date.UTC(...date, hour, minute, second) - offset);
  if (year !== undefined) return isDay(year, month, day) ? at(year, month - 1, day) : null;
  const today = at(...dateOf(now, offset));
  return today > now ? today - WHOLE_DAY : today;
}

/** Milliseconds east of UTC; null where no zone was named. */
function offsetOf([, , , , , , , zone, hours = "0", minutes = "0"]) {
  if (zone === undefined) return null;
  const sign = hours.startsWith("-") ? -1 : 1;
  return sign * (Math.abs(Number(hours)) * 60 + Number(minutes)) * 60_000;
}

function dateOf(now, offset) {
  const date = new Date(offset === null ? now : now + offset);
  return offset === null
    ? [date.getFullYear(), date.getMonth(), date.getDate()]
    : [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
}

function isDay(year, month, day) {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function written(at) {
  return new Date(at).toISOString().replace(/\.\d+/, "");
}
