// Times as people type them.

import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "Asia/Kolkata"; // half past an hour, and no summer time

const LIB = "../../../controlplane/console/static/console/lib";
const { timeOf } = await import(`${LIB}/typedtime.js`);
const NOW = Date.parse("2026-11-27T12:00:00Z");

const MEANT = {
  "": "",
  now: "",
  "10m": "2026-11-27T11:50:00Z",
  "10 minutes ago": "2026-11-27T11:50:00Z",
  "1 hour": "2026-11-27T11:00:00Z",
  "1h30m": "2026-11-27T10:30:00Z",
  "2d4h": "2026-11-25T08:00:00Z", // as ages are shown
  "1 week ago": "2026-11-20T12:00:00Z",
  "17:00": "2026-11-27T11:30:00Z",
  "18:00": "2026-11-26T12:30:00Z", // it is half past five in the afternoon
  "11:58 UTC": "2026-11-27T11:58:00Z",
  "12:01Z": "2026-11-26T12:01:00Z",
  "2026-11-27 16:30": "2026-11-27T11:00:00Z",
  "2026-11-27": "2026-11-26T18:30:00Z",
  "2026-11-27 22:16:18 UTC": "2026-11-27T22:16:18Z", // as the audit log shows it
  "2026-11-27 22:16:18 UTC+1": "2026-11-27T21:16:18Z",
  "2026-11-27 22:16:18 UTC+5.5": "2026-11-27T16:46:18Z", // as it is shown where this test is
  "2026-11-27 22:16 +0530": "2026-11-27T16:46:00Z",
  "1y5d": "2025-11-22T12:00:00Z",
  "2026-11-27T22:16:18-05:30": "2026-11-27T22:16:18-05:30",
  "2026-11-27T22:16:18.123456+00:00": "2026-11-27T22:16:18.123456+00:00",
};

for (const [typed, meant] of Object.entries(MEANT)) {
  test(`“${typed}”`, () => assert.equal(timeOf(typed, NOW), meant));
}

for (const typed of ["soon", "10", "10x", "25:00", "12:60", "2026-13-01", "2026-02-30", "Z", "99999999999w"]) {
  test(`“${typed}” is none`, () => assert.equal(timeOf(typed, NOW), null));
}
