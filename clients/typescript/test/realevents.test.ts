import assert from "node:assert/strict";
import { test } from "node:test";
import { type Followed, Sendlimit } from "../src/index.js";
import { apiUrl, cutting } from "./server.js";

const operator = new Sendlimit(apiUrl());
const later = new Date(Date.now() + 2 * 86_400_000);

async function cancelled(id: string): Promise<void> {
  await operator.submitMessage({ id, user: "hal", send_at: later, title: "Hi" });
  await operator.cancelMessage("hal", id);
}

/** Has the programs write events, and returns the id of the last one. */
async function lastEvent(): Promise<string> {
  const deadline = Date.now() + 60_000;
  for (let n = 0; ; n++) {
    const page = await operator.readEvents({ after: "0", limit: 1000 });
    if (page.events.length > 0) return page.next ?? "";
    assert.ok(Date.now() < deadline, "nothing writes events");
    await cancelled(`warm-${Date.now()}-${n}`);
    await new Promise((waited) => setTimeout(waited, 100));
  }
}

/** Returns the type and the id of the next event of a message. */
async function nextOf(followed: AsyncGenerator<Followed, void>, id: string): Promise<{ type: string; id: string }> {
  for (;;) {
    const { value } = await followed.next();
    assert.ok(value?.event, "a gap, or the end");
    if (value.event.subject === id) return value.event;
  }
}

test("events go on behind the last one after a cut", async (t) => {
  const between = await cutting(t);
  const after = await lastEvent();
  const followed = new Sendlimit(between.url).followEvents({ after }, { signal: AbortSignal.timeout(60_000) });
  await operator.submitMessage({ id: "sent", user: "ida", send_at: "now", title: "Hi" });
  const sent = await nextOf(followed, "sent");
  assert.equal(sent.type, "sendlimit.message.delivered");

  await cancelled("while-connected");
  const whileConnected = await nextOf(followed, "while-connected");
  assert.equal(whileConnected.type, "sendlimit.message.cancelled");
  const before = between.connections();
  between.cut();
  await cancelled("while-cut");
  const whileCut = await nextOf(followed, "while-cut");
  assert.equal(whileCut.type, "sendlimit.message.cancelled");
  assert.ok(between.connections() > before);
  await followed.return();

  const wanted = [sent.id, whileConnected.id, whileCut.id];
  const { events } = await operator.readEvents({ after, limit: 1000 });
  assert.deepEqual(events.map((one) => one.id).filter((id) => wanted.includes(id)), wanted);
});

test("a gap is told", async (t) => {
  const between = await cutting(t);
  await lastEvent();
  const followed = new Sendlimit(between.url).followEvents({ after: "1-0" }, { signal: AbortSignal.timeout(60_000) });
  assert.deepEqual((await followed.next()).value, { gap: { after: "1-0" } });
  const { value } = await followed.next();
  assert.match(value?.event?.type ?? "", /^sendlimit\.message\./);
  await followed.return();
});
