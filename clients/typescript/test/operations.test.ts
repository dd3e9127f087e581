import assert from "node:assert/strict";
import { test } from "node:test";
import { Sendlimit } from "../src/index.js";
import { apiUrl, message } from "./server.js";

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; schema: { type?: string; enum?: unknown[] } }[];
  requestBody?: unknown;
}

/** Calls a method until it has sent its request. */
async function asks(method: (...given: unknown[]) => unknown, given: unknown[]): Promise<void> {
  const result = method(...given) as AsyncIterable<unknown> | Promise<unknown>;
  if (Symbol.asyncIterator in result) {
    for await (const _ of result) return;
  } else {
    await result;
  }
}

test("every operation of the document has a method, which sends every parameter", async () => {
  const document = (await (await fetch(apiUrl() + "/openapi.json")).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  let sent: { url: URL; init: RequestInit } | undefined;
  const client = new Sendlimit("http://api.test", {
    fetch: async (url, init) => {
      sent = { url: new URL(String(url)), init: init ?? {} };
      return new Response('{"outcome":"error","code":"internal","status":500}', {
        status: 500, headers: { "Content-Type": "application/problem+json" },
      });
    },
  });
  const methods = client as unknown as Record<string, ((...given: unknown[]) => unknown) | undefined>;
  let operations = 0;
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      operations++;
      const { operationId: id, parameters = [], requestBody } = operation;
      const named = (where: string) => parameters.filter((one) => one.in === where);
      const value = (one: { name: string; schema: { type?: string; enum?: unknown[] } }) =>
        one.schema.enum?.[0] ?? { integer: 7, boolean: true }[one.schema.type ?? ""] ?? `a ${one.name}`;
      const headers = new Set(named("header").map((one) => one.name));
      const query: Record<string, unknown> = Object.fromEntries(named("query").map((one) => [one.name, value(one)]));
      if (id === "followEvents") {
        // readEvents sends the first two; a stream is resumed with the parameter after.
        delete query["follow"];
        delete query["limit"];
        headers.delete("Last-Event-Id");
      }
      const given: unknown[] = named("path").map((one) => `a ${one.name}`);
      if (path.startsWith("/v1/messages/batch")) given.push([message]);
      else if (requestBody) given.push({ title: "Hi" });
      // The document of a policy is a line of the body, and the parameter says so.
      if (named("query").length > 0) given.push(id === "checkBatch" ? { ...query, what_if_policy: { rules: ["1/day"] } } : query);
      given.push({ ifMatch: '"7"', ifNoneMatch: "*", idempotencyKey: "order-17" });

      const call = methods[id];
      assert.ok(call, `no method for ${id}`);
      sent = undefined;
      await assert.rejects(asks(call.bind(client), given), { code: "internal" }, id);
      assert.ok(sent, id);
      const { url, init } = sent as { url: URL; init: RequestInit };
      assert.equal(init.method, method.toUpperCase(), id);
      assert.equal(url.pathname, path.replace(/\{(\w+)\}/g, "a%20$1"), id);
      assert.deepEqual(Object.fromEntries(url.searchParams), Object.fromEntries(Object.entries(query).map(([n, v]) => [n, String(v)])), id);
      assert.equal(typeof init.body === "string", requestBody !== undefined, id);
      const has = new Headers(init.headers);
      for (const name of headers) assert.ok(has.has(name), `${id} does not send ${name}`);
    }
  }
  assert.ok(operations >= 40, String(operations));
});
