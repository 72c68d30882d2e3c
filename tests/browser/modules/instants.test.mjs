import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "Europe/Berlin"; // one hour before UTC in November
const { instantOf } = await import("../../../controlplane/console/static/console/lib/instants.js");
const NOW = new Date("2026-11-27T22:30:00Z");

test("times are understood as they are typed and as they are shown", () => {
  for (const [text, expected] of [
    ["2h", "2026-11-27T20:30:00Z"],
    ["5m3s ago", "2026-11-27T22:24:57Z"],
    ["1d", "2026-11-26T22:30:00Z"],
    ["10 minutes ago", "2026-11-27T22:20:00Z"], // as the past offers them
    ["1 hour 30 mins", "2026-11-27T21:00:00Z"],
    ["1 week", "2026-11-20T22:30:00Z"],
    ["14:05", "2026-11-27T13:05:00Z"],
    ["23:31", "2026-11-26T22:31:00Z"], // not yet today
    ["9:00:30", "2026-11-27T08:00:30Z"],
    ["today", "2026-11-26T23:00:00Z"],
    ["yesterday", "2026-11-25T23:00:00Z"],
    ["Yesterday 14:05", "2026-11-26T13:05:00Z"],
    ["2026-11-23", "2026-11-22T23:00:00Z"],
    ["2026-11-23 14:05", "2026-11-23T13:05:00Z"],
    ["2026-11-23 14:05:09 UTC+1", "2026-11-23T13:05:09Z"],
    ["2026-11-23 14:05:09 UTC", "2026-11-23T14:05:09Z"],
    ["2026-11-23T14:05:09Z", "2026-11-23T14:05:09Z"],
    ["2026-11-23T14:05:09.250123+02:00", "2026-11-23T14:05:09.250123+02:00"],
    ["2026-11-23T14:05", "2026-11-23T13:05:00Z"],
  ]) assert.equal(instantOf(text, NOW), expected, text);
});

test("what means no time is none", () => {
  for (const text of ["", "soon", "25:00", "14", "2x", "2 moons", "ago", "tomorrow", "2026-13", "UTC", "yesterday noon", "2026-13-01 00:00", "2026-06-31",
    "2026-02-30 10:00:00 UTC"]) {
    assert.equal(instantOf(text, NOW), null, text);
  }
});
