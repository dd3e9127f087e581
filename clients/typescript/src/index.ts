export type { BatchResult, Identified } from "./batch.js";
export { Sendlimit, type WhatIf } from "./client.js";
export { BatchError, InvalidRequest, Refusal, ResponseError, SendlimitError, Unavailable } from "./errors.js";
export type { Followed, Following } from "./events.js";
export type { CallOptions, ConditionalOptions, Options, SubmitOptions, Versioned } from "./options.js";
export type { Pages } from "./pages.js";
export type * from "./schemas.js";
export { verifyWebhook, WebhookError } from "./webhook.js";
