// Moments of the past: which are offered, how they are written and how they are told.

import { age } from "./time.js";

const MINUTE = 60_000; // milliseconds

/** What is offered, from the present backwards: [words, milliseconds ago]. */
export const CHOICES = [
  ["now", 0],
  ["5 minutes ago", 5 * MINUTE],
  ["1 hour ago", 60 * MINUTE],
  ["1 day ago", 24 * 60 * MINUTE],
  ["1 week ago", 7 * 24 * 60 * MINUTE],
];

/** The moment so many milliseconds ago, as the API takes it (RFC 3339); "" for the present. */
export function momentOf(ago) {
  return ago ? new Date(Date.now() - ago).toISOString().replace(/\.\d+/, "") : "";
}

/** Whether a moment is a resourceVersion and not a time. */
export function isVersion(moment) {
  return /^\d+$/.test(moment);
}

/** A moment in words; of a time its age, and the exact time on hover. */
export function told(moment) {
  if (!moment) return "now";
  return isVersion(moment) ? `resourceVersion ${moment}` : [age(moment), " ago"];
}
