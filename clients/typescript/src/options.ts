/** How a client calls the API. */
export interface Options {
  /** The account's API key, sent with every request. Over http:// everybody on the path can read it. */
  key?: string | undefined;
  /** How often a request is sent at most, 1 to 100; by default 4. With 1 nothing is sent again. */
  attempts?: number | undefined;
  /**
   * How long one try may take, by default 30,000. For a stream it bounds the wait for each
   * line.
   */
  timeoutMs?: number | undefined;
  /** The longest Retry-After to wait for, by default 30,000. A longer one ends the attempts. */
  maxRetryAfterMs?: number | undefined;
  /** Sends the requests, in place of the global fetch. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, its waits and its retries. The call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of a change that can require a version. */
export interface ConditionalOptions extends CallOptions {
  /** An etag: the change is made only if nobody made another one since. "*" is any version. */
  ifMatch?: string | undefined;
  /** "*": the change is made only if there is nothing yet. */
  ifNoneMatch?: string | undefined;
}

/** Options of a call that takes an idempotency key. */
export interface SubmitOptions extends CallOptions {
  /** The message's id, if it has none. Without both, the client makes one for each call. */
  idempotencyKey?: string | undefined;
}

/** What has a version. */
export interface Versioned {
  /** The version in quotes, for ifMatch. */
  etag: string;
}

/** The options of a client, checked and with the defaults. */
export interface Settings {
  attempts: number;
  timeoutMs: number;
  maxRetryAfterMs: number;
}
