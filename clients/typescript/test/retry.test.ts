import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidRequest, Refusal, ResponseError, Sendlimit, SendlimitError, Unavailable } from "../src/index.js";
import { accept, message, reply, scripted, unavailable } from "./server.js";

const key = "sk_secret";

test("a request without an answer is sent again with the same idempotency key", async (t) => {
  const { client, asked } = await scripted(t, (response, n) => {
    if (n === 0) response.destroy();
    else if (n === 1) reply(response, 503, unavailable);
    else accept(response);
  });
  assert.equal((await client.submitMessage(message)).outcome, "accepted");
  const keys = asked.map((one) => one.headers["idempotency-key"]);
  assert.match(String(keys[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
  assert.equal(client.waits.length, 2);
  assert.ok(client.waits[0]! >= 50 && client.waits[0]! <= 100, String(client.waits));
  assert.ok(client.waits[1]! >= 100 && client.waits[1]! <= 200, String(client.waits));

  await client.submitMessage(message);
  assert.notEqual(asked[3]?.headers["idempotency-key"], keys[0]); // another call, another message
});

test("a message with an id needs no key, and a key of the caller's is sent", async (t) => {
  const { client, asked } = await scripted(t, accept);
  await client.submitMessage({ ...message, id: "order-17" });
  await client.submitMessage(message, { idempotencyKey: "order-18" });
  assert.deepEqual(asked.map((one) => one.headers["idempotency-key"]), [undefined, "order-18"]);
});

for (const [name, headers, least] of [
  ["seconds", { "Retry-After": "3" }, 3000],
  ["a date, by the clock of who sent it", { "Retry-After": "Sun, 22 Nov 2026 10:00:07 GMT", Date: "Sun, 22 Nov 2026 10:00:03 GMT" }, 4000],
  ["a date in the past", { "Retry-After": "Sun, 22 Nov 2026 10:00:00 GMT", Date: "Sun, 22 Nov 2026 10:00:03 GMT" }, 0],
  ["no time", { "Retry-After": "soon" }, 0],
] as const) {
  test(`Retry-After is honoured: ${name}`, async (t) => {
    const { client } = await scripted(t, (response, n) => (n === 0 ? reply(response, 503, unavailable, headers) : accept(response)));
    await client.submitMessage(message);
    assert.equal(client.waits.length, 1);
    assert.ok(client.waits[0]! >= least && client.waits[0]! <= least + 100, String(client.waits));
  });
}

test("a longer Retry-After than the longest ends the attempts", async (t) => {
  const { client, asked } = await scripted(t, (response) => reply(response, 503, unavailable, { "Retry-After": "31" }));
  await assert.rejects(client.submitMessage(message), (error) => error instanceof Unavailable && error.retryAfterMs === 31_000);
  assert.equal(asked.length, 1);
});

test("attempts bounds how often a request is sent", async (t) => {
  const { client, asked } = await scripted(t, (response) => reply(response, 503, unavailable), { attempts: 3 });
  await assert.rejects(client.getStats(), { name: "Unavailable", code: "unavailable", status: 503, requestId: "r-1", message: "no Redis" });
  assert.equal(asked.length, 3);
});

test("a rate limit is waited for, a used up quota and a refusal are not", async (t) => {
  for (const [status, code, times] of [[429, "rate_limited", 4], [429, "quota_exceeded", 1], [409, "send_limit", 1]] as const) {
    const { client, asked } = await scripted(t, (response) =>
      reply(response, status, { outcome: "refused", code, detail: "no", retry_after_seconds: 2 }, { "Retry-After": "1" }));
    await assert.rejects(client.submitMessage(message), (error) => error instanceof Refusal && error.code === code && error.retryAfterMs === 1000);
    assert.equal(asked.length, times, code);
  }
});

test("what would be done twice is sent again only if it was not begun", async (t) => {
  const { client, asked } = await scripted(t, (response, n) => {
    if (n === 0) reply(response, 429, { outcome: "refused", code: "rate_limited", detail: "too many" });
    else reply(response, 503, unavailable);
  });
  await assert.rejects(client.addAccountKey("acme", { scopes: ["read"] }), Unavailable);
  assert.equal(asked.length, 2);
});

test("a redirect is not followed", async (t) => {
  const elsewhere = await scripted(t, accept);
  const { client, asked } = await scripted(t, (response) => response.writeHead(307, { Location: elsewhere.url + "/v1/messages" }).end(), { key });
  await assert.rejects(client.submitMessage(message), (error) => error instanceof ResponseError && /redirect/.test(error.message));
  assert.equal(asked[0]?.headers.authorization, `Bearer ${key}`);
  assert.deepEqual(elsewhere.asked, []);
});

test("a try that takes too long is given up", async (t) => {
  for (const begin of [false, true]) {
    const { client, asked } = await scripted(t, (response) => {
      if (begin) response.writeHead(200, { "Content-Type": "application/json" }).write("{");
    }, { timeoutMs: 500, attempts: 2 });
    await assert.rejects(client.getStats(), (error) => error instanceof Unavailable && /no answer within 500 ms/.test(error.message));
    assert.equal(asked.length, 2);
  }
});

test("a signal ends a call, and its waits", async (t) => {
  const abort = new AbortController();
  const { client } = await scripted(t, () => abort.abort(new Error("enough")));
  await assert.rejects(client.getStats({ signal: abort.signal }), /^Error: enough$/);
  assert.deepEqual(client.waits, []);

  const waiting = new AbortController();
  const { url } = await scripted(t, (response) => {
    reply(response, 503, unavailable, { "Retry-After": "29" });
    setTimeout(() => waiting.abort(new Error("enough")), 20);
  });
  await assert.rejects(new Sendlimit(url).getStats({ signal: waiting.signal }), /^Error: enough$/);
});

test("no error and no printed client has the key", async (t) => {
  const closed = new Sendlimit("http://127.0.0.1:1", { key, attempts: 1 });
  const { client } = await scripted(t, (response) => reply(response, 401, { outcome: "error", code: "unauthorized", detail: "wrong key" }), { key });
  const { inspect } = await import("node:util");
  for (const one of [closed, client]) {
    const error = await one.getStats().then(() => assert.fail("it succeeded"), (error: unknown) => error);
    assert.ok(error instanceof SendlimitError);
    for (const shown of [error, one]) {
      assert.ok(!inspect(shown, { depth: 9, showHidden: true }).includes(key));
      assert.ok(!JSON.stringify(shown).includes(key));
    }
  }
  for (const bad of [`${key} x`, `${key}\n`, `${key}é`]) {
    assert.throws(() => new Sendlimit("http://127.0.0.1:1", { key: bad }), (error) => error instanceof InvalidRequest && !error.message.includes(key));
  }
  assert.throws(() => new Sendlimit(`http://user:${key}@127.0.0.1`), (error) => error instanceof InvalidRequest && !error.message.includes(key));
});

test("wrong options are refused by name", () => {
  for (const [field, url, options] of [
    ["baseUrl", "127.0.0.1:8080", {}], ["baseUrl", "ftp://127.0.0.1", {}], ["baseUrl", "http://127.0.0.1/?a", {}],
    ["attempts", "http://a", { attempts: 0 }], ["attempts", "http://a", { attempts: 1.5 }],
    ["timeoutMs", "http://a", { timeoutMs: 0 }], ["maxRetryAfterMs", "http://a", { maxRetryAfterMs: NaN }],
  ] as const) {
    assert.throws(() => new Sendlimit(url, options), (error) => error instanceof InvalidRequest && error.field === field);
  }
});

test("an answer of another server is an error", async (t) => {
  for (const [status, type, body] of [
    [200, "text/html", "<html>"], [200, "application/json", "[1"], [200, "application/json", "7"], [404, "text/html", "<html>"],
    [404, "application/problem+json", '{"outcome":"refused","code":"not_found"}'], [204, "application/json", ""],
  ] as const) {
    const { client, asked } = await scripted(t, (response) => response.writeHead(status, { "Content-Type": type }).end(body));
    await assert.rejects(client.getStats(), (error) => error instanceof ResponseError && error.status === status);
    assert.equal(asked.length, 1);
  }
});

test("an answer that is too long is not read to its end", async (t) => {
  const { client } = await scripted(t, (response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    const piece = " ".repeat(2 ** 20);
    for (let n = 0; n < 18; n++) response.write(piece);
    response.end("{}");
  });
  await assert.rejects(client.getStats(), (error) => error instanceof ResponseError && /16777216 bytes/.test(error.message));
});

test("names are one segment of the path, not empty and no folder", async (t) => {
  const { client, asked } = await scripted(t, accept);
  for (const user of ["a/b", "...", "ü ?"]) await client.getMessage(user, "x");
  assert.deepEqual(asked.map((one) => one.url), [
    "/v1/users/a%2Fb/messages/x", "/v1/users/.../messages/x", "/v1/users/%C3%BC%20%3F/messages/x",
  ]);
  for (const user of ["", ".", ".."]) {
    assert.throws(() => client.getMessage(user, "x"), (error) => error instanceof InvalidRequest && error.field === "user");
  }
});
