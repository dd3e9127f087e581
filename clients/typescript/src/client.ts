import { type BatchResult, checkAll, submitAll } from "./batch.js";
import { type Followed, follow, type Following } from "./events.js";
import { Operations } from "./operations.js";
import type { CallOptions } from "./options.js";
import type { CheckBatchQuery, Draft, Events, PolicyDocument, SubmitBatchQuery } from "./schemas.js";

/** What a dry run of a batch judges by. */
export type WhatIf = Omit<CheckBatchQuery, "what_if_policy"> & {
  /** Replaces the stored policy of its name, "default" if it has none. Requires the scope admin. */
  what_if_policy?: PolicyDocument;
};

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

  /**
   * Counts messages that another system has sent, each at its send_at, which has passed.
   * Nothing is judged or delivered, but they count when later messages are judged. Title and
   * body are not needed. It requires the scope admin. Requests and results are as those of
   * submitBatch.
   */
  recordSent(
    messages: Iterable<Draft> | AsyncIterable<Draft>, options: CallOptions = {},
  ): AsyncGenerator<BatchResult, void, undefined> {
    const request = { method: "POST", path: "/v1/messages/batch/record-sent" };
    return submitAll(
      messages,
      (some) => this.stream({ ...request, lines: some }, options),
      (error, attempt) => this.pause(error, attempt, request, options),
    );
  }

  /**
   * Says what would become of the messages of a batch, and takes nothing: earlier messages
   * count. A dry run has at most 1,000 messages: the API takes 10,000, but answers while it
   * reads, and not every fetch reads before it has sent everything.
   *
   * Results come as submitBatch yields them. A dry run that breaks after its first result is
   * not sent again: what it had judged is lost, and it throws a BatchError.
   */
  checkBatch(
    messages: Iterable<Draft> | AsyncIterable<Draft>, whatIf: WhatIf = {}, options: CallOptions = {},
  ): AsyncGenerator<BatchResult, void, undefined> {
    const { what_if_policy: policy, ...query } = whatIf;
    const request = {
      method: "POST", path: "/v1/messages/batch/dry-run", query: policy ? { ...query, what_if_policy: true } : query,
    };
    const first = policy ? [policy] : [];
    return checkAll(
      messages,
      first.length,
      (all) => this.stream({ ...request, lines: [...first, ...all] }, options),
      (error, attempt) => this.pause(error, attempt, request, options),
    );
  }

  /**
   * Follows what becomes of messages, from now on or behind the event with the id in after.
   * It ends only with an error, or when the loop is left.
   *
   * A stream that breaks is opened again behind the last event, for as long as it takes. A gap
   * says that events may be missing. Each event comes at least once, those of a message in the
   * order of its changes. To go on later, keep the id of the last event that you have handled.
   */
  followEvents(
    query: Following = {}, options: CallOptions = {},
  ): AsyncGenerator<Followed, void, undefined> {
    const request = { method: "GET", path: "/v1/events" };
    return follow(
      query.after,
      (after) => this.serverSent({ ...request, query: { ...query, after } }, options),
      (error, attempt, begun, leastMs) => this.pause(error, attempt, request, options, begun, leastMs),
    );
  }

  /** Reads a page of events behind the one with the id in after, by default from the oldest one kept. */
  readEvents(query: Following & { limit?: number } = {}, options: CallOptions = {}): Promise<Events> {
    return this.value({ method: "GET", path: "/v1/events", query: { ...query, follow: false } }, options);
  }
}
