import { Refusal, SendlimitError, Unavailable } from "./errors.js";
import type { Settings } from "./options.js";

const firstBackoffMs = 100;
const longestBackoffMs = 5_000;
const longestRetryAfterMs = 365 * 24 * 3_600_000;

/**
 * The wait before the next try after an error, or undefined if a retry is of no use.
 * A request that would be done twice is sent again only if the API did not begin it.
 */
export function waitBefore(error: unknown, attempt: number, once: boolean, settings: Settings): number | undefined {
  if (!(error instanceof SendlimitError) || attempt >= settings.attempts) return undefined;
  const busy = error instanceof Refusal && error.code === "rate_limited";
  if (!busy && (once || !(error instanceof Unavailable))) return undefined;
  const after = error.retryAfterMs ?? 0;
  return after > settings.maxRetryAfterMs ? undefined : after + backoff(attempt);
}

/**
 * A wait that doubles with each attempt. Half of it is random, so that callers who failed
 * together do not retry together. It is added to Retry-After for the same reason.
 */
function backoff(attempt: number): number {
  const whole = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (attempt - 1));
  return whole / 2 + Math.random() * (whole / 2);
}

/**
 * Reads Retry-After: seconds or an HTTP date. It returns undefined for anything else. A date
 * is compared with the answer's own Date, so that the two clocks need not agree.
 */
export function retryAfter(headers: Headers): number | undefined {
  const value = headers.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, longestRetryAfterMs);
  const ms = httpDate(value) - httpDate(headers.get("Date") ?? "");
  return ms > 0 ? Math.min(ms, longestRetryAfterMs) : undefined;
}

/** Reads a date such as Sun, 06 Nov 1994 08:49:37 GMT; NaN for other text. */
function httpDate(text: string): number {
  return /^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text) ? Date.parse(text) : NaN;
}

/** Waits, and throws the signal's reason if it aborts first. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(done, ms);
    function done(): void {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
