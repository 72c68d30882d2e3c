// Streams of pages that nobody looks at, and pages whose server is away.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

const LIB = "../../../controlplane/console/static/console/lib";
const page = new EventTarget();
page.hidden = false;
globalThis.document = page;
const heard = new EventTarget();
globalThis.addEventListener = heard.addEventListener.bind(heard);
globalThis.dispatchEvent = heard.dispatchEvent.bind(heard);

const { whileLooked, looked } = await import(`${LIB}/looks.js`);
const { answers, awaySince, isAway, noAnswer } = await import(`${LIB}/outage.js`);

const settled = async () => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
};
const hide = (hidden) => {
  page.hidden = hidden;
  page.dispatchEvent(new Event("visibilitychange"));
};

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  page.hidden = false;
});

/** A stream that goes on until its signal is aborted, as fetch's do. */
async function* stream(signal) {
  yield "first";
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

test("a stream ends some seconds after nobody looks any more", async () => {
  const events = whileLooked(undefined, stream);
  assert.equal((await events.next()).value, "first");
  let over = null;
  events.next().then((next) => (over = next.done));
  hide(true);
  mock.timers.tick(4000);
  hide(false); // somebody was back at once
  mock.timers.tick(60_000);
  await settled();
  assert.equal(over, null);
  hide(true);
  mock.timers.tick(6000);
  await settled();
  assert.equal(over, true, "and that is no error");
});

test("what the caller ends, ends with the caller's own reason", async () => {
  const own = new AbortController();
  const events = whileLooked(own.signal, stream);
  await events.next();
  const next = events.next();
  own.abort();
  await assert.rejects(next, { name: "AbortError" });
});

test("what fails while somebody looks is told", async () => {
  const broken = async function* () {
    yield 1;
    throw new TypeError("reset");
  };
  const events = whileLooked(undefined, broken);
  await events.next();
  await assert.rejects(events.next(), TypeError);
});

test("who waits for somebody to look goes on when somebody does, or when it is over", async () => {
  page.hidden = true;
  const own = new AbortController();
  const ends = [];
  looked().then(() => ends.push("looked at"));
  looked(own.signal).then(() => ends.push("over"));
  await settled();
  assert.deepEqual(ends, []);
  own.abort();
  await settled();
  assert.deepEqual(ends, ["over"]);
  hide(false);
  await settled();
  assert.deepEqual(ends, ["over", "looked at"]);
});

test("a server that is away is asked until it answers", async () => {
  const told = [];
  for (const name of ["away", "back"]) heard.addEventListener(`console:${name}`, () => told.push(name));
  const looks = [() => Promise.reject(new TypeError("refused")), async () => ({ ok: false }), async () => ({ ok: true })];
  globalThis.fetch = () => looks.shift()();
  noAnswer();
  noAnswer();
  assert.equal(isAway(), true);
  assert.ok(Date.parse(awaySince()) > 0);
  let back = false;
  answers().then(() => (back = true));
  for (const left of [2, 1, 0]) {
    assert.equal(back, false);
    mock.timers.tick(2000);
    await settled();
    assert.equal(looks.length, left);
  }
  await settled();
  assert.deepEqual([back, isAway(), awaySince(), told], [true, false, null, ["away", "back"]]);
});
