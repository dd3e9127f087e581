import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { verifyWebhook, WebhookError } from "../src/index.js";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

function signed(by: string, at: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(at));
  const value = createHmac("sha256", Buffer.from(by.slice("whsec_".length), "base64")).update(`msg_1.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": "v1," + value };
}

test("what was signed is taken", async () => {
  const now = Date.now() / 1000;
  await verifyWebhook(secret, signed(secret, now, "{}"), "{}");
  await verifyWebhook(secret, new Headers(signed(secret, now, "{}")), Buffer.from("{}"));
  const both = signed(secret, now, "{}");
  await verifyWebhook(secret, { ...both, "Webhook-Signature": undefined, "webhook-signature": signed(other, now, "{}")["webhook-signature"] + " " + both["webhook-signature"] }, "{}");
});

test("what was not signed is refused", async () => {
  const now = Date.now() / 1000;
  for (const [headers, body] of [
    [signed(other, now, "{}"), "{}"], [signed(secret, now, "{}"), "{ }"], [signed(secret, now - 360, "{}"), "{}"],
    [signed(secret, now + 360, "{}"), "{}"], [{}, "{}"], [{ ...signed(secret, now, "{}"), "webhook-signature": "v1,ä" }, "{}"],
  ] as const) {
    await assert.rejects(verifyWebhook(secret, headers, body), WebhookError);
  }
  for (const wrong of ["", "whsec_", secret.slice("whsec_".length)]) {
    await assert.rejects(verifyWebhook(wrong, signed(secret, now, "{}"), "{}"), TypeError);
  }
});
