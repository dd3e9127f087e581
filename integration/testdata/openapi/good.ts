// Calls that a client makes. All of them compile.
import createClient from "openapi-fetch";
import type { components, paths } from "api";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8080", headers: { Authorization: "Bearer sk_…" } });
const message = { user: "alice", id: "order-17" };

export async function submits(): Promise<string | undefined> {
  const draft: components["schemas"]["Draft"] = {
    user: "alice", send_at: "2040-06-22T11:11:11Z", title: "Hi", data: { order: "17" }, on_conflict: "shift",
  };
  const { data, error, response } = await client.POST("/v1/messages", {
    body: draft, params: { header: { "Idempotency-Key": "order-17" } },
  });
  if (error) {
    const wait: string | null = response.headers.get("Retry-After");
    const conflicts = error.violations?.flatMap((v) => v.conflicts.map((c) => c.send_at)) ?? [];
    return `${error.status} ${error.code}: ${error.detail} ${error.next_free_at ?? wait} ${conflicts.join()}`;
  }
  const replayed: boolean = data.replayed ?? false;
  return replayed ? undefined : data.send_at;
}

export async function checksAndSubmitsMany(): Promise<ReadableStream<Uint8Array> | null | undefined> {
  await client.POST("/v1/messages/dry-run", { body: { user: "alice", send_at: "now", body: "text", category: null } });
  const { data } = await client.POST("/v1/messages/batch", {
    body: { user: "alice", send_at: "now", title: "Hi" },
    bodySerializer: (line) => JSON.stringify(line) + "\n",
    headers: { "Content-Type": "application/x-ndjson" },
    parseAs: "stream",
  });
  return data;
}

export async function movesAndCancels(): Promise<void> {
  await client.PATCH("/v1/users/{user}/messages/{id}", { params: { path: message }, body: { send_at: "now" } });
  const { data } = await client.DELETE("/v1/users/{user}/messages/{id}", { params: { path: message } });
  const outcome: string | undefined = data?.outcome;
  void outcome;
}

export async function* pages(): AsyncGenerator<components["schemas"]["Status"]> {
  let cursor: string | undefined;
  do {
    const query = { limit: 100, ...(cursor ? { cursor } : {}) };
    const { data } = await client.GET("/v1/users/{user}/messages", { params: { path: { user: "alice" }, query } });
    yield* data?.messages ?? [];
    cursor = data?.next_cursor;
  } while (cursor);
}

export async function looks(): Promise<number> {
  const { data } = await client.GET("/v1/users/{user}/usage", {
    params: { path: { user: "alice" }, query: { at: "now", category: "marketing" } },
  });
  let used = 0;
  for (const rule of data?.rules ?? []) {
    const kind: "sliding" | "calendar" = rule.kind;
    used += kind === "sliding" ? rule.used : 0;
  }
  return used;
}

export async function changesSettings(): Promise<string> {
  const params = { path: { user: "alice" }, header: { "If-Match": '"7"' } };
  const { data } = await client.PATCH("/v1/users/{user}/settings", {
    params, body: { blocked: null, contact: null, limits: ["20/calendar_day"] },
  });
  const effective = data?.effective;
  return effective === null || effective === undefined ? "nothing is accepted" : effective.rules[0]?.rule ?? "";
}

export async function operates(): Promise<string | undefined> {
  const params = { path: { policy: "vip" } };
  await client.PUT("/v1/policies/{policy}", {
    params,
    body: {
      rules: ["1/minute", "10/calendar_day"], quiet_hours: ["22:00-08:00"], on_conflict: "shift", alert_at: [80],
      categories: { marketing: { rules: ["2/calendar_day"] }, codes: { exempt: true, counts: false } },
    },
  });
  await client.POST("/v1/policies/{policy}/refit", {
    params: { ...params, query: { then: "cancel" } }, parseAs: "stream",
  });
  await client.PUT("/v1/tiers/{tier}", { params: { path: { tier: "free" } }, body: { messages_per_day: 500 } });
  await client.POST("/v1/accounts", { body: { name: "acme", tier: "free", report_at: "08:00" } });
  const { data } = await client.POST("/v1/accounts/{account}/keys", {
    params: { path: { account: "acme" } }, body: { scopes: ["submit", "read"] },
  });
  await client.POST("/v1/accounts/{account}/keys/{key}/rotate", {
    params: { path: { account: "acme", key: data?.id ?? "" } }, body: { overlap: "1h" },
  });
  await client.DELETE("/v1/tiers/{tier}", { params: { path: { tier: "free" } } });
  return data?.key;
}
