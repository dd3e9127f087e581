import assert from "node:assert/strict";
import { test } from "node:test";
import { type Draft, InvalidRequest, Refusal, ResponseError, Sendlimit, type WhatIf } from "../src/index.js";
import { apiUrl } from "./server.js";

const operator = new Sendlimit(apiUrl());
const day = 86_400_000;
/** 11:11:11 on the day after tomorrow, UTC. */
const at = new Date((Math.floor(Date.now() / day) + 2) * day + 40_271_000);
const later = (seconds: number) => new Date(at.getTime() + seconds * 1000);

async function all<T>(given: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of given) list.push(one);
  return list;
}

async function refused(call: Promise<unknown>, code: string): Promise<Refusal> {
  const error = await call.then(() => assert.fail("it succeeded"), (error: unknown) => error);
  assert.ok(error instanceof Refusal, String(error));
  assert.equal(error.code, code);
  return error;
}

test("a message is accepted once, refused with the reasons, moved and cancelled", async () => {
  const table: Draft = { id: "table", user: "ann", send_at: at, title: "Your table is ready", data: { table: "7" } };
  const first = await operator.submitMessage(table);
  assert.equal(first.outcome, "accepted");
  assert.equal(first.replayed, undefined);
  assert.equal((await operator.submitMessage(table)).replayed, true);

  const refusal = await refused(operator.submitMessage({ user: "ann", send_at: later(34), title: "Rate us" }), "send_limit");
  assert.equal(refusal.status, 409);
  assert.deepEqual(refusal.violations.map((one) => [one.rule, one.conflicts[0]?.id]), [["1/minute", "table"]]);
  assert.deepEqual([refusal.nextFreeAt, refusal.previousFreeAt], [later(60), later(-60)]);
  assert.ok(refusal.requestId);

  const shifted = await operator.submitMessage({ user: "ann", send_at: later(34), title: "Rate us", on_conflict: "shift" });
  assert.deepEqual([shifted.shifted, shifted.send_at], [true, later(60).toISOString()]);
  const moved = await operator.moveMessage("ann", "table", { send_at: later(-600) });
  assert.equal(moved.moved_from, at.toISOString());
  assert.equal((await operator.getMessage("ann", "table")).title, "Your table is ready");
  assert.equal((await operator.cancelMessage("ann", "table")).outcome, "cancelled");
  assert.equal((await operator.cancelMessage("ann", "table")).replayed, true);
  await refused(operator.getMessage("ann", "nothing"), "not_found");

  await assert.rejects(operator.submitMessage({ user: "ann", send_at: "soon", title: "Hi" }),
    (error) => error instanceof InvalidRequest && error.field === "send_at" && error.status === 422);
});

test("a batch of more than one request is judged in order", async () => {
  const drafts = Array.from({ length: 600 }, (_, n): Draft => ({ user: `bea${n % 300}`, send_at: at, title: `Hello ${n}` }));
  const results = await all(operator.submitBatch(drafts));
  assert.deepEqual(results.map((one) => one.index), drafts.map((_, n) => n));
  for (const { index, message, accepted, error } of results) {
    if (index < 300) assert.equal(accepted?.id, message.id);
    else assert.ok(error instanceof Refusal && error.violations.length === 1 && error.nextFreeAt);
  }
});

test("a dry run takes nothing, and judges by other rules", async () => {
  const drafts = [0, 30, 60].map((seconds): Draft => ({ user: "fay", send_at: later(seconds), title: "Hi" }));
  const accepted = async (whatIf: WhatIf) => (await all(operator.checkBatch(drafts, whatIf))).map((one) => one.accepted !== undefined);
  assert.deepEqual(await accepted({}), [true, false, true]);
  assert.deepEqual(await accepted({ what_if: "3/minute" }), [true, true, true]);
  assert.deepEqual(await accepted({ what_if_policy: { rules: ["1/hour"] } }), [true, false, false]);
  assert.deepEqual(await all(operator.listMessages("fay")), []);
});

test("sends of another system are recorded", async () => {
  const sent = new Date(Date.now() - 600_000);
  const drafts = Array.from({ length: 601 }, (_, n): Draft => ({ id: `s${n % 600}`, user: `gus${n % 600}`, send_at: sent, title: "" }));
  const results = await all(operator.recordSent([...drafts, { user: "gus0", send_at: at }]));
  assert.deepEqual(results.map((one) => one.accepted?.outcome), [...drafts.map(() => "recorded"), undefined]);
  assert.equal(results[600]?.accepted?.replayed, true);
  assert.ok(results[601]?.error instanceof InvalidRequest && results[601].error.field === "send_at");
  const usage = await operator.getUsage("gus0", { from: new Date(sent.getTime() - 3_600_000), until: new Date() });
  assert.deepEqual(usage.sends.map((one) => one.id), ["s0"]);
});

test("dead letters and alerts are removed by age", async () => {
  assert.deepEqual(await all(operator.listDeadAlerts()), []);
  assert.deepEqual(await operator.purgeDeadLetters({ older_than: "7d" }), { purged: 0, more: false });
  assert.deepEqual(await operator.purgeDeadAlerts({ older_than: "7d", limit: 10 }), { purged: 0, more: false });
  const alert = "daily_report/1795219200000/a/b";
  await refused(operator.getDeadAlert(alert), "not_found");
  await refused(operator.retryDeadAlert(alert), "not_found");
});

test("a tier is removed, and a key rotated with an overlap", async () => {
  await operator.setTier("brief", { messages_per_day: 5 });
  assert.equal((await operator.removeTier("brief")).outcome, "removed");
  await refused(operator.getTier("brief"), "not_found");
  await operator.createAccount({ name: "rotating" });
  const first = await operator.addAccountKey("rotating", { scopes: ["read"] });
  const second = await operator.rotateAccountKey("rotating", first.id, { overlap: "1h" });
  const third = await operator.rotateAccountKey("rotating", second.id, { overlap: "0" });
  for (const key of [first.key, third.key]) {
    assert.equal((await new Sendlimit(apiUrl(), { key }).getOwnUsage()).account, "rotating");
  }
  await assert.rejects(new Sendlimit(apiUrl(), { key: second.key }).getOwnUsage(), ResponseError);
});

test("a list is read page by page", async () => {
  for (let n = 0; n < 5; n++) await operator.submitMessage({ id: `m${n}`, user: "cara", send_at: later(60 * n), title: "Hi" });
  const list = operator.listMessages("cara", { from: at, limit: 2 });
  assert.deepEqual((await all(list)).map((one) => one.id), ["m0", "m1", "m2", "m3", "m4"]);
  assert.deepEqual((await all(list.pages())).map((page) => page.messages.length), [2, 2, 1]);
  assert.deepEqual((await operator.getNextFree("cara", { from: at, count: 2 })).times.length, 2);
});

test("a change can require a version", async () => {
  const before = await operator.getUserSettings("dora");
  assert.equal(before.etag, '"0"');
  const changed = await operator.changeUserSettings("dora", { limits: ["20/calendar_day"] }, { ifMatch: before.etag });
  assert.deepEqual(changed.limits, ["20/calendar_day"]);
  await refused(operator.changeUserSettings("dora", { blocked: true }, { ifMatch: before.etag }), "version_mismatch");
  await operator.clearUserSettings("dora", { ifMatch: changed.etag });
});

test("a dry run of a policy yields its lines", async () => {
  const found = await all(operator.dryRunPolicy("default", { rules: ["1/calendar_day"] }));
  assert.equal(found.at(-1)?.outcome, "dry_run");
});

test("a key is sent, and a wrong one is an error", async () => {
  await operator.createAccount({ name: "typescript" });
  const { key } = await operator.addAccountKey("typescript", { scopes: ["submit", "read"] });
  const client = new Sendlimit(apiUrl(), { key });
  await client.submitMessage({ id: "own", user: "eve", send_at: at, title: "Hi" });
  assert.equal((await client.getMessage("eve", "own")).account, "typescript");
  assert.equal((await client.getOwnUsage()).account, "typescript");
  for (const [wrong, call] of [
    ["forbidden", () => client.getPolicy("default")],
    ["unauthorized", () => new Sendlimit(apiUrl(), { key: key.slice(0, -1) }).getOwnUsage()],
  ] as const) {
    await assert.rejects(call(), (error) => error instanceof ResponseError && error.code === wrong && !error.message.includes(key.slice(0, -1)));
  }
});
