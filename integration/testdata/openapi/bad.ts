// Calls with a mistake each. None of them compiles: the compiler reports every directive
// whose next line has no error.
import createClient from "openapi-fetch";
import type { components, paths } from "api";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8080" });
const path = { user: "alice", id: "order-17" };
const user = { user: "alice" };
type Draft = components["schemas"]["Draft"];

export async function wrong(): Promise<void> {
  // @ts-expect-error There is no such path.
  await client.GET("/v1/message");
  // @ts-expect-error The path has no such method.
  await client.DELETE("/v1/messages");
  // @ts-expect-error The body is missing.
  await client.POST("/v1/messages", {});
  // @ts-expect-error The body is a number.
  await client.POST("/v1/messages", { body: 42 });
  // @ts-expect-error The body is a text.
  await client.POST("/v1/messages", { body: "user=alice" });
  // @ts-expect-error There is no user.
  await client.POST("/v1/messages", { body: { send_at: "now", title: "Hi" } });
  // @ts-expect-error The window has no end.
  await client.POST("/v1/messages", { body: { user: "alice", title: "Hi", window: { from: "now" } } });
  // @ts-expect-error The user is null.
  await client.POST("/v1/messages", { body: { user: null, send_at: "now", title: "Hi" } });
  // @ts-expect-error The title is a number.
  await client.POST("/v1/messages", { body: { user: "alice", send_at: "now", title: 42 } });
  // @ts-expect-error There is no such way to resolve a conflict.
  await client.POST("/v1/messages", { body: { user: "alice", send_at: "now", title: "Hi", on_conflict: "drop" } });
  // @ts-expect-error A value of data is a number.
  await client.POST("/v1/messages", { body: { user: "alice", send_at: "now", title: "Hi", data: { order: 17 } } });
  // @ts-expect-error The dry run needs a message too.
  await client.POST("/v1/messages/dry-run", { body: {} });
  // @ts-expect-error There is no id in the path.
  await client.GET("/v1/users/{user}/messages/{id}", { params: { path: user } });
  // @ts-expect-error The new time is a number.
  await client.PATCH("/v1/users/{user}/messages/{id}", { params: { path }, body: { send_at: 17 } });
  // @ts-expect-error The limit is a text.
  await client.GET("/v1/users/{user}/messages", { params: { path: user, query: { limit: "all" } } });
  // @ts-expect-error There is no such parameter.
  await client.GET("/v1/users/{user}/messages", { params: { path: user, query: { form: "now" } } });
  // @ts-expect-error Whether a user is blocked is no text.
  await client.PATCH("/v1/users/{user}/settings", { params: { path: user }, body: { blocked: "yes" } });
  // @ts-expect-error A policy has rules.
  await client.PUT("/v1/policies/{policy}", { params: { path: { policy: "vip" } }, body: {} });
  // @ts-expect-error The rules of a category are texts.
  await client.PUT("/v1/policies/{policy}", { params: { path: { policy: "vip" } }, body: { rules: ["1/hour"], categories: { a: { rules: [1] } } } });
  // @ts-expect-error There is no such scope.
  await client.POST("/v1/accounts/{account}/keys", { params: { path: { account: "acme" } }, body: { scopes: ["root"] } });
  // @ts-expect-error An overlap is a text.
  await client.POST("/v1/accounts/{account}/keys/{key}/rotate", { params: { path: { account: "acme", key: "k" } }, body: { overlap: 3600 } });
  // @ts-expect-error What to do with misfits is missing.
  await client.POST("/v1/policies/{policy}/refit", { params: { path: { policy: "vip" } } });
  // @ts-expect-error There is no such action.
  await client.POST("/v1/policies/{policy}/refit", { params: { path: { policy: "vip" }, query: { then: "keep" } } });
  // @ts-expect-error A tier's limit is a number.
  await client.PUT("/v1/tiers/{tier}", { params: { path: { tier: "free" } }, body: { messages_per_day: "500" } });

  const { data, error } = await client.POST("/v1/messages", { body: { user: "alice", send_at: "now", title: "Hi" } });
  // @ts-expect-error There may be no answer.
  data.outcome.length;
  // @ts-expect-error An answer has no such member.
  data?.sent_at;
  // @ts-expect-error A problem has no such member.
  error?.message;
}

// @ts-expect-error Nothing else is a message.
export const number: Draft = 42;
// @ts-expect-error Nor is a list of messages.
export const list: Draft = [{ user: "alice", send_at: "now", title: "Hi" }];
// @ts-expect-error A message has no such member.
export const unknown: Draft = { user: "alice", send_at: "now", title: "Hi", when: "later" };
// @ts-expect-error Settings have no such member.
export const misspelled: components["schemas"]["SettingsPatch"] = { bloked: true };
