import { is, longestLine, readText, requestId } from "./body.js";
import { InvalidRequest, Refusal, ResponseError, type SendlimitError, Unavailable } from "./errors.js";
import { retryAfter } from "./retry.js";
import type { Outcome } from "./schemas.js";

/** Returns the error that an answer other than a success means. */
export async function problemOf(response: Response): Promise<SendlimitError> {
  let outcome: Partial<Outcome> = {};
  if (is(response, "application/problem+json")) {
    try {
      outcome = (JSON.parse(await readText(response, longestLine)) ?? {}) as Partial<Outcome>;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      // Go by the status.
    }
  }
  const { status } = response;
  const about = { code: outcome.code, status, requestId: requestId(response), retryAfterMs: retryAfter(response.headers) };
  switch (status) {
    case 408:
    case 502:
    case 503:
    case 504:
      return new Unavailable(outcome.detail ?? `the API is unavailable: HTTP status ${status}`, about);
    case 429:
      return refusalOf({ outcome: "refused", ...outcome }, { ...about, code: outcome.code ?? "rate_limited" });
  }
  // not_found without a user and a field means that the API does not have the address: it is
  // another API, which says nothing about a message.
  const elsewhere = outcome.code === "not_found" && !outcome.user && !outcome.field;
  if (outcome.outcome === "refused" && !elsewhere) return refusalOf({ outcome: "refused", ...outcome }, about);
  if (outcome.outcome === "invalid") return invalidOf({ outcome: "invalid", ...outcome }, about);
  if (status === 0 || (status >= 300 && status < 400)) {
    return new ResponseError("the API answered with a redirect, which is not followed", about);
  }
  return new ResponseError(`HTTP status ${status}: ${outcome.detail ?? "an answer that the API does not document"}`, about);
}

/** Returns the error of a line that ends a stream, or undefined for any other line. */
export function errorOf(line: Outcome): SendlimitError | undefined {
  if (line.outcome !== "error") return undefined;
  const about = { code: line.code, retryAfterMs: seconds(line.retry_after_seconds) };
  switch (line.code) {
    case "rate_limited": // the account's lines of a minute are used up
    case "refit_running":
    case "version_mismatch":
      return refusalOf(line);
    case "invalid_field":
      return invalidOf(line);
    case "unavailable":
    case "store_full":
    case "store_unfit":
      return new Unavailable(line.detail ?? "the API is unavailable", about);
    default:
      return new ResponseError(line.detail ?? "the API ended the stream with an error", about);
  }
}

/** Returns the error for an outcome that is refused. */
export function refusalOf(outcome: Outcome, about: ConstructorParameters<typeof Refusal>[1] = {}): Refusal {
  return new Refusal(outcome, { ...about, retryAfterMs: about.retryAfterMs ?? seconds(outcome.retry_after_seconds) });
}

/** Returns the error for an outcome that is invalid. */
export function invalidOf(outcome: Outcome, about: ConstructorParameters<typeof InvalidRequest>[2] = {}): InvalidRequest {
  return new InvalidRequest(outcome.detail ?? "the request is invalid", outcome.field, { code: outcome.code, ...about });
}

function seconds(n: number | undefined): number | undefined {
  return n === undefined ? undefined : n * 1000;
}
