import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { type Followed, Refusal, ResponseError, Unavailable } from "../src/index.js";
import { reply, scripted, unavailable } from "./server.js";

function events(response: ServerResponse, text: string): ServerResponse {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(text);
  return response;
}

const event = (id: string) => `id: ${id}\nevent: sendlimit.message.moved\ndata: {"id":"${id}","subject":"m"}\n\n`;

/** Takes some of what is followed, as text, and leaves. */
async function take(given: AsyncIterable<Followed>, count: number): Promise<string[]> {
  const list: string[] = [];
  for await (const { event, gap } of given) {
    list.push(event ? event.id : `gap after ${gap.after}`);
    if (list.length === count) break;
  }
  return list;
}

test("a stream that ends is opened again behind the last event", async (t) => {
  const { client, asked } = await scripted(t, (response, n) => {
    if (n === 0) events(response, "retry: 700\nid: 1-0\n\n").end();
    else if (n === 1) events(response, `${event("2-0")}: still here\n\nid: 3-0\ndata: {"id"`).end();
    else if (n < 9) reply(response, 503, unavailable); // longer than the attempts
    else if (n === 9) events(response, `event: gap\ndata: {"after":"2-0"}\n\n${event("4-0")}`).write("id", () => response.destroy());
    else events(response, event("5-0"));
  });
  assert.deepEqual(await take(client.followEvents({ account: "acme" }), 4), ["2-0", "gap after 2-0", "4-0", "5-0"]);
  assert.deepEqual([0, 1, 2, 9, 10].map((n) => asked[n]?.url), [
    "/v1/events?account=acme", "/v1/events?account=acme&after=1-0", "/v1/events?account=acme&after=2-0",
    "/v1/events?account=acme&after=2-0", "/v1/events?account=acme&after=4-0",
  ]);
  assert.ok(client.waits.every((ms) => ms >= 700), String(client.waits));
});

test("a stream that never begins, or is refused, ends", async (t) => {
  const away = await scripted(t, (response) => reply(response, 503, unavailable));
  await assert.rejects(take(away.client.followEvents(), 1), Unavailable);
  assert.equal(away.asked.length, 4);
  const refused = await scripted(t, (response, n) => {
    if (n === 0) events(response, event("1-0")).end();
    else reply(response, 403, { outcome: "error", code: "forbidden", detail: "no" });
  });
  await assert.rejects(take(refused.client.followEvents(), 2), (error) => error instanceof ResponseError && error.code === "forbidden");
  const once = await scripted(t, (response) => events(response, event("1-0")).end(), { attempts: 1 });
  await assert.rejects(take(once.client.followEvents(), 2), Unavailable);
  const full = await scripted(t, (response) => reply(response, 429, { outcome: "refused", code: "rate_limited" }), { attempts: 2 });
  await assert.rejects(take(full.client.followEvents(), 1), Refusal);
});

test("a signal ends a stream", async (t) => {
  const abort = new AbortController();
  const { client } = await scripted(t, (response) => void events(response, event("1-0")));
  await assert.rejects(async () => {
    for await (const _ of client.followEvents({}, { signal: abort.signal })) abort.abort(new Error("enough"));
  }, /^Error: enough$/);
});

test("a page of events is read", async (t) => {
  const { client, asked } = await scripted(t, (response) => reply(response, 200, { events: [], next: "7-0" }));
  assert.equal((await client.readEvents({ after: "6-0", limit: 5 })).next, "7-0");
  assert.equal(asked[0]?.url, "/v1/events?after=6-0&limit=5&follow=false");
});
