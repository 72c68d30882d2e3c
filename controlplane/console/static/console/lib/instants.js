// Times as people type them, and as the console shows them, in the reader's zone. Pure.

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 365 * 86_400 }; // seconds
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const DAY = /^(?:(today|yesterday)|(\d{4})-(\d\d)-(\d\d))(?:[ T]+(\d.*))?$/i;
const ZONE = /^(.+?)\s*(?:Z|UTC|GMT)\s*([+-]\d+(?:\.\d+)?)?$/i;
const UNIT = "(?:s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?|y(?:ears?)?)";
const AGO = new RegExp(`^(?:\\d+(?:\\.\\d+)?${UNIT})+$`);

export const EXAMPLES = "14:05, yesterday, 2h, 10 minutes ago, 2026-01-31 14:05 or 2026-01-31T14:05:00Z";

/** The time that a text means, as the API takes it (RFC 3339); null for what means none. now: a Date.
 *  "2h", "5m3s" and "10 minutes" are so long ago; a clock alone is the last time that it showed that. */
export function instantOf(text, now = new Date()) {
  const typed = text.trim();
  if (isExact(typed)) return typed; // to the microsecond, which a Date has not
  const at = ago(typed, now) ?? clock(typed, now) ?? zoned(typed) ?? day(typed, now);
  return at && !Number.isNaN(at.getTime()) ? at.toISOString().replace(".000Z", "Z") : null;
}

function ago(typed, now) {
  const text = typed.replace(/\s*ago$/, "").replaceAll(" ", "");
  if (!AGO.test(text)) return null;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([smhdwy])/g)];
  const seconds = parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit], 0);
  return new Date(now.getTime() - seconds * 1000);
}

function clock(typed, now) {
  const at = onDay(now, typed);
  if (at && at > now) at.setDate(at.getDate() - 1);
  return at;
}

/** "2026-11-23 14:05:09 UTC+1", as times are shown on hover. */
function zoned(typed) {
  const [, local, offset = "0"] = ZONE.exec(typed) ?? [];
  const [, , year, month, date, time = "0:00"] = DAY.exec(local ?? "") ?? [];
  const found = CLOCK.exec(time);
  if (!year || !found || !isDate(year, month, date)) return null;
  const [, hour, minute, second = 0] = found;
  const at = Date.UTC(Number(year), Number(month) - 1, Number(date), Number(hour), Number(minute), Number(second));
  return new Date(at - Number(offset) * 3_600_000);
}

function day(typed, now) {
  const [all, word, year, month, date, time = "0:00"] = DAY.exec(typed) ?? [];
  if (!all || (year && !isDate(year, month, date))) return null;
  const on = word ? new Date(now) : new Date(Number(year), Number(month) - 1, Number(date));
  if (word?.toLowerCase() === "yesterday") on.setDate(on.getDate() - 1);
  return onDay(on, time);
}

/** Whether there is such a day: a Date takes the 31st of June for the 1st of July. */
function isDate(year, month, date) {
  const at = new Date(Date.UTC(Number(year), Number(month) - 1, Number(date)));
  return at.getUTCMonth() === Number(month) - 1 && at.getUTCDate() === Number(date);
}

/** The time of that day at which a clock shows this. */
function onDay(on, time) {
  const [all, hour, minute, second = 0] = CLOCK.exec(time) ?? [];
  return all ? new Date(on.getFullYear(), on.getMonth(), on.getDate(), Number(hour), Number(minute), Number(second)) : null;
}

function isExact(typed) {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(typed) && !Number.isNaN(Date.parse(typed));
}
