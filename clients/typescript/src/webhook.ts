/** The request is not what a worker signed with the secret. */
export class WebhookError extends Error {
  override name = "WebhookError";
}

const toleranceSeconds = 5 * 60;

/**
 * Verifies what a worker sends: a delivery, a callback or a notice, in the form of Standard Webhooks.
 * It throws a WebhookError unless the request was signed with the secret, at most five minutes ago.
 *
 * The secret begins with "whsec_". `body` is the body as it came: JSON that was read and written again
 * has another signature. Keep the header webhook-id of what you handled, since a request may come
 * again. While a secret is rotated there are two signatures, and one has to fit.
 */
export async function verifyWebhook(
  secret: string, headers: Headers | Record<string, string | string[] | undefined>, body: string | Uint8Array,
): Promise<void> {
  const { createHmac, timingSafeEqual } = await import("node:crypto"); // browsers receive no webhooks
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  if (!secret.startsWith("whsec_") || key.length === 0) throw new TypeError("the secret is not valid: it is whsec_ and base64");
  const given = (name: string): string => {
    if (headers instanceof Headers) return headers.get(name) ?? "";
    const value = Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
    return Array.isArray(value) ? value.join(" ") : value ?? "";
  };
  const id = given("webhook-id"), timestamp = given("webhook-timestamp");
  if (!id || !/^\d+$/.test(timestamp)) throw new WebhookError("the webhook has no id or no timestamp");
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > toleranceSeconds) throw new WebhookError("the webhook is more than five minutes old or early");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  for (const signature of given("webhook-signature").split(" ")) {
    if (!signature.startsWith("v1,")) continue;
    const value = Buffer.from(signature.slice("v1,".length), "base64");
    if (value.length === expected.length && timingSafeEqual(value, expected)) return;
  }
  throw new WebhookError("no signature of the webhook fits");
}
