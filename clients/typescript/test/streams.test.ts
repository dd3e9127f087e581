import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { BatchError, type BatchResult, type Draft, InvalidRequest, Refusal, ResponseError, Unavailable } from "../src/index.js";
import { message, reply, scripted, unavailable } from "./server.js";

function lines(response: ServerResponse, all: unknown[]): ServerResponse {
  response.writeHead(200, { "Content-Type": "application/x-ndjson" });
  for (const line of all) response.write(JSON.stringify(line) + "\n");
  return response;
}

const accepted = (line: number) => ({ outcome: "accepted", line, id: `m${line}`, user: "alice", send_at: "2026-11-22T11:11:11.000Z" });
const ids = (body: string) => body.trim().split("\n").map((line) => (JSON.parse(line) as { id: string }).id);

async function all<T>(given: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of given) list.push(one);
  return list;
}

test("a batch that breaks goes on with the messages without an answer, which keep their ids", async (t) => {
  const { client, asked } = await scripted(t, (response, n) => {
    if (n === 0) lines(response, [accepted(1)]).end('{"outcome":"error","code":"unavailable","detail":"no Redis"}\n');
    else if (n === 1) reply(response, 429, { outcome: "refused", code: "rate_limited", detail: "one at a time" }, { "Retry-After": "5" });
    else if (n === 2) lines(response, [{ ...accepted(1), outcome: "refused", code: "send_limit" }]).write("{", () => response.destroy());
    else lines(response, [{ outcome: "invalid", line: 1, code: "invalid_field", field: "title", detail: "no title" }]).end();
  });
  const results = await all<BatchResult>(client.submitBatch([message, message, message]));
  assert.deepEqual(results.map((one) => one.index), [0, 1, 2]);
  assert.equal(results[0]?.accepted?.outcome, "accepted");
  assert.ok(results[1]?.error instanceof Refusal && results[2]?.error instanceof InvalidRequest);
  const sent = asked.map((one) => ids(one.body));
  assert.deepEqual(sent.map((some) => some.length), [3, 2, 2, 1]);
  assert.deepEqual([sent[1], sent[2], sent[3]], [sent[0]?.slice(1), sent[0]?.slice(1), sent[0]?.slice(2)]);
  assert.deepEqual(results.map((one) => one.message.id), sent[0]);
  assert.ok(client.waits[1]! >= 5000 && client.waits[1]! <= 5200, String(client.waits));
});

test("a batch that can't go on names the messages without an answer", async (t) => {
  const { client, asked } = await scripted(t, (response, n) => {
    if (n === 0) lines(response, [accepted(1)]).end();
    else reply(response, 503, unavailable);
  }, { attempts: 3 });
  const results: BatchResult[] = [];
  await assert.rejects(async () => {
    for await (const one of client.submitBatch([{ ...message, id: "x" }, { ...message, id: "y" }])) results.push(one);
  }, (error) => error instanceof BatchError && error.cause instanceof Unavailable && error.code === "unavailable" &&
    error.unanswered.map((one) => one.id).join() === "y" && /1 messages unanswered: no Redis/.test(error.message));
  assert.equal(results.length, 1);
  assert.equal(asked.length, 3);
});

test("an answer to another line ends a batch", async (t) => {
  for (const answer of [[accepted(2)], [accepted(1), accepted(2)], [{ outcome: "mystery", line: 1 }]]) {
    const { client, asked } = await scripted(t, (response) => lines(response, answer).end());
    await assert.rejects(all(client.submitBatch([message])), (error) => error instanceof BatchError && error.cause instanceof ResponseError);
    assert.equal(asked.length, 1);
  }
});

test("a batch reads its messages as it goes, also from an async source", async (t) => {
  let read = 0;
  async function* source(): AsyncGenerator<Draft> {
    for (; read < 1200; read++) yield { ...message, id: `m${read}` };
  }
  const { client, asked } = await scripted(t, (response, _, { body }) => lines(response, ids(body).map((_, n) => accepted(n + 1))).end());
  for await (const { index } of client.submitBatch(source(), { without_free_times: true })) {
    if (index === 499) assert.ok(read <= 500, String(read));
  }
  assert.deepEqual(asked.map((one) => ids(one.body).length), [500, 500, 200]);
  assert.equal(asked[0]?.url, "/v1/messages/batch?without_free_times=true");
});

test("a dry run is sent again until its first result, and has a bound", async (t) => {
  const { client, asked } = await scripted(t, (response, n) => {
    if (n === 0) reply(response, 503, unavailable);
    else lines(response, [accepted(1)]).end();
  });
  const results: BatchResult[] = [];
  await assert.rejects(async () => {
    for await (const one of client.checkBatch([message, message])) results.push(one);
  }, (error) => error instanceof BatchError && error.unanswered.length === 1);
  assert.deepEqual([results.length, asked.length], [1, 2]);

  const many = Array.from({ length: 1001 }, () => message);
  await assert.rejects(all(client.checkBatch(many)), (error) => error instanceof InvalidRequest && error.field === "messages");
  assert.equal(asked.length, 2);
});

test("an empty batch asks nothing", async (t) => {
  const { client, asked } = await scripted(t, (response) => response.end());
  assert.deepEqual(await all(client.submitBatch([])), []);
  assert.equal(asked.length, 0);
});

test("a stalled stream is given up, and a slow reader is waited for", async (t) => {
  const { client } = await scripted(t, (response) => void lines(response, [{ outcome: "progress", policy: "vip" }]), { timeoutMs: 1000, attempts: 1 });
  const seen: string[] = [];
  await assert.rejects(async () => {
    for await (const line of client.refitPolicy("vip", { then: "shift" })) {
      seen.push(line.outcome);
      await new Promise((slow) => setTimeout(slow, 1200));
    }
  }, (error) => error instanceof Unavailable && /no answer within 1000 ms/.test(error.message));
  assert.deepEqual(seen, ["progress"]);
});

test("a dry run of a policy is sent again until its first line, and must end with a summary", async (t) => {
  const begun = await scripted(t, (response, n) => {
    if (n === 0) reply(response, 503, unavailable);
    else lines(response, [{ outcome: "progress" }]).end();
  });
  await assert.rejects(all(begun.client.dryRunPolicy("vip", { rules: ["1/day"] })), /ended before its summary/);
  assert.equal(begun.asked.length, 2);

  const whole = await scripted(t, (response) => lines(response, [{ outcome: "progress" }, { outcome: "dry_run" }]).end());
  const found = await all(whole.client.dryRunPolicy("vip", { rules: ["1/day"] }));
  assert.deepEqual(found.map((one) => one.outcome), ["progress", "dry_run"]);

  const running = await scripted(t, (response) => lines(response, [{ outcome: "error", code: "refit_running", detail: "wait" }]).end());
  await assert.rejects(all(running.client.refitPolicy("vip", { then: "cancel" })), (error) => error instanceof Refusal && error.code === "refit_running");
  assert.equal(running.asked.length, 1);
});

test("a list that goes round ends with an error", async (t) => {
  const { client, asked } = await scripted(t, (response) => reply(response, 200, { messages: [{ id: "a" }], next_cursor: "c" }));
  await assert.rejects(all(client.listMessages("alice", { limit: 1 })), ResponseError);
  assert.deepEqual(asked.map((one) => one.url), ["/v1/users/alice/messages?limit=1", "/v1/users/alice/messages?limit=1&cursor=c"]);
});
