import { type BatchResult, submitAll } from "./batch.js";
import { Operations } from "./operations.js";
import type { CallOptions } from "./options.js";
import type { Draft, SubmitBatchQuery } from "./schemas.js";

/**
 * Calls the API. Each method has the name of its operation in the OpenAPI document.
 *
 * A call that does not succeed throws a SendlimitError: Refusal, InvalidRequest, Unavailable
 * or ResponseError. A request without an answer, or with status 408, 429, 502, 503 or 504, is
 * sent again after a wait that doubles, or the wait that Retry-After asks for. That is safe: a
 * message has its id before it is first sent, so it is never submitted twice. What would be
 * done twice, such as adding a key, is sent again only if the API had no room for it.
 */
export class Sendlimit extends Operations {
  /**
   * Submits any number of messages, and yields the result of each in order.
   *
   * It reads up to 500 messages and submits them in one request; then it reads the next ones.
   * Each user's messages are judged in their order. If a request breaks, the messages without
   * an answer are sent again. If the batch ends before its last message, it throws a
   * BatchError.
   *
   * A message without an id gets a new one; a batch that may be run again needs ids. Who
   * leaves the loop early does not learn the outcome of messages under way.
   */
  submitBatch(
    messages: Iterable<Draft> | AsyncIterable<Draft>, query: SubmitBatchQuery = {}, options: CallOptions = {},
  ): AsyncGenerator<BatchResult, void, undefined> {
    const request = { method: "POST", path: "/v1/messages/batch", query: { ...query } };
    return submitAll(
      messages,
      (some) => this.stream({ ...request, lines: some }, options),
      (error, attempt) => this.pause(error, attempt, request, options),
    );
  }
}
