import { is, longestAnswer, parse, readLines, readText, undocumented } from "./body.js";
import { InvalidRequest, SendlimitError, Unavailable } from "./errors.js";
import { newId } from "./ids.js";
import type { CallOptions, ConditionalOptions, Options, Settings, SubmitOptions, Versioned } from "./options.js";
import { Pages } from "./pages.js";
import { Patience } from "./patience.js";
import { errorOf, problemOf } from "./problems.js";
import { sleep, waitBefore } from "./retry.js";
import type { Outcome } from "./schemas.js";
import { parseServerSent, type ServerSent, threeHeartbeatsMs } from "./serversent.js";

/** A request that can be repeated. */
export interface Request {
  method: string;
  path: string;
  query?: Record<string, unknown>;
  body?: unknown;
  /** The lines of the body, in place of body. */
  lines?: unknown[];
  /** It takes an idempotency key. */
  keyed?: boolean;
  /** It would be done twice if it were sent twice. */
  once?: boolean;
}

type AnyOptions = CallOptions & ConditionalOptions & SubmitOptions;

/** Sends requests, and sends them again. */
export abstract class Caller {
  readonly #base: string;
  readonly #headers: () => Headers;
  readonly #fetch: typeof globalThis.fetch;
  readonly #settings: Settings;

  /** @param baseUrl The address of the API, such as http://127.0.0.1:8080. */
  constructor(baseUrl: string, options: Options = {}) {
    this.#base = checkedBase(baseUrl);
    const { key, attempts = 4, timeoutMs = 30_000, maxRetryAfterMs = 30_000 } = options;
    if (!/^[!-~]*$/.test(key ?? "")) throw new InvalidRequest("key takes visible ASCII characters without spaces", "key");
    if (!Number.isInteger(attempts) || attempts < 1 || attempts > 100) {
      throw new InvalidRequest(`attempts ${attempts} is not allowed: use 1 to 100`, "attempts");
    }
    for (const [name, ms] of Object.entries({ timeoutMs, maxRetryAfterMs })) {
      if (!(ms > 0 && ms < 2 ** 31)) throw new InvalidRequest(`${name} ${ms} is not allowed: use 1 to ${2 ** 31 - 1}`, name);
    }
    this.#settings = { attempts, timeoutMs, maxRetryAfterMs };
    this.#headers = () => new Headers(key ? { Authorization: `Bearer ${key}` } : {});
    this.#fetch = options.fetch ?? ((...args) => globalThis.fetch(...args));
  }

  /** Waits before the next try. */
  protected wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return sleep(ms, signal);
  }

  /** Makes a call, and returns the answer. */
  protected async value<T>(request: Request, options: CallOptions): Promise<T> {
    return (await this.#answer<T>(request, options)).answer;
  }

  /** Makes a call whose answer has its version in a header. */
  protected async versioned<T>(request: Request, options: CallOptions): Promise<T & Versioned> {
    const { answer, response } = await this.#answer<T>(request, options);
    const etag = response.headers.get("ETag");
    if (etag === null) throw undocumented(response, "it has no ETag");
    return { ...answer, etag };
  }

  /** Makes a call for each page of a list. */
  protected pages<Page, Entry>(request: Request & { member: keyof Page }, options: CallOptions): Pages<Page, Entry> {
    return new Pages<Page, Entry>(
      (cursor) => this.value<Page>(cursor ? { ...request, query: { ...request.query, cursor } } : request, options),
      request.member,
    );
  }

  /** Makes a call that is answered with lines, and yields them. It is sent again until the first line. */
  protected async *lines<T>(request: Request, options: CallOptions): AsyncGenerator<T, void, undefined> {
    for (let attempt = 1; ; attempt++) {
      let begun = false;
      let whole = false;
      try {
        for await (const line of this.stream(request, options)) {
          begun = true;
          whole = /^(dry_run|refitted|exported|erased|campaign_.*)$/.test(line.outcome);
          yield line as T;
        }
        if (!whole) throw new Unavailable("the answer ended before its summary");
        return;
      } catch (error) {
        if (begun) throw error;
        await this.pause(error, attempt, request, options);
      }
    }
  }

  /** Sends a request once, and yields the lines of its answer. A line with an error is thrown. */
  protected async *stream(request: Request, options: CallOptions): AsyncGenerator<Outcome, void, undefined> {
    const prepared = this.#prepare(request, options);
    const patience = new Patience(this.#settings.timeoutMs, options.signal);
    try {
      const response = await this.#send(prepared, patience);
      if (!is(response, "application/x-ndjson")) throw undocumented(response, "it is not application/x-ndjson");
      let n = 0;
      for await (const text of readLines(response, patience)) {
        if (text === "") continue;
        const line = parse(response, text, `line ${++n}`) as Outcome;
        const error = errorOf(line);
        if (error) throw error;
        yield line;
      }
    } catch (error) {
      throw this.#unreachable(error, patience, options);
    } finally {
      patience.end();
    }
  }

  /** Sends a request once, and yields the server-sent events of its answer. */
  protected async *serverSent(request: Request, options: CallOptions): AsyncGenerator<ServerSent, void, undefined> {
    const prepared = this.#prepare(request, options);
    const patience = new Patience(Math.max(this.#settings.timeoutMs, threeHeartbeatsMs), options.signal);
    try {
      const response = await this.#send(prepared, patience);
      if (!is(response, "text/event-stream")) throw undocumented(response, "it is not text/event-stream");
      yield* parseServerSent(readLines(response, patience));
    } catch (error) {
      throw this.#unreachable(error, patience, options);
    } finally {
      patience.end();
    }
  }

  /**
   * Waits until the next try. It throws the error if there is none.
   *
   * @param begun What is done has begun, and goes on for as long as it takes.
   * @param leastMs The shortest wait.
   */
  protected async pause(
    error: unknown, attempt: number, request: Request, { signal }: CallOptions, begun = false, leastMs = 0,
  ): Promise<void> {
    signal?.throwIfAborted();
    const { attempts } = this.#settings;
    const settings = { ...this.#settings, attempts: begun && attempts > 1 ? Infinity : attempts };
    const ms = waitBefore(error, attempt, request.once ?? false, settings);
    if (ms === undefined) throw error;
    await this.wait(Math.max(ms, leastMs), signal);
  }

  async #answer<T>(request: Request, options: CallOptions): Promise<{ answer: T; response: Response }> {
    const prepared = this.#prepare(request, options);
    for (let attempt = 1; ; attempt++) {
      const patience = new Patience(this.#settings.timeoutMs, options.signal);
      try {
        const response = await this.#send(prepared, patience);
        if (!is(response, "application/json")) throw undocumented(response, "it is not application/json");
        const answer = parse(response, await readText(response, longestAnswer), "its body") as T;
        return { answer, response };
      } catch (error) {
        await this.pause(this.#unreachable(error, patience, options), attempt, request, options);
      } finally {
        patience.end();
      }
    }
  }

  /** Makes the HTTP request of a call. It is the same for every try. */
  #prepare(request: Request, options: AnyOptions): { url: string; init: RequestInit } {
    const headers = this.#headers();
    headers.set("Accept", "application/json, application/x-ndjson, text/event-stream, application/problem+json");
    const given = request.body as { id?: string | null } | undefined;
    const key = options.idempotencyKey ?? (request.keyed && !given?.id ? newId() : undefined);
    for (const [name, value] of [
      ["If-Match", options.ifMatch], ["If-None-Match", options.ifNoneMatch], ["Idempotency-Key", key],
    ] as const) {
      if (value === undefined) continue;
      if (!/^[ -~]+$/.test(value)) throw new InvalidRequest(`${name} takes printable ASCII`, name);
      headers.set(name, value);
    }
    let body: string | null = null;
    if (request.lines) {
      headers.set("Content-Type", "application/x-ndjson");
      body = request.lines.map((line) => JSON.stringify(line) + "\n").join("");
    } else if (request.body !== undefined) {
      headers.set("Content-Type", "application/json");
      body = JSON.stringify(request.body);
    }
    // A redirect could turn a POST into a GET, or send the key to another server.
    return {
      url: this.#base + request.path + queryOf(request.query),
      init: { method: request.method, headers, body, redirect: "manual" },
    };
  }

  /** Sends a request once. It returns the answer if that is a success, and throws otherwise. */
  async #send({ url, init }: { url: string; init: RequestInit }, patience: Patience): Promise<Response> {
    const response = await this.#fetch(url, { ...init, signal: patience.signal });
    if (response.status === 200 || response.status === 201) return response;
    throw await problemOf(response);
  }

  /** The error of a try: its own, or that no answer came. */
  #unreachable(error: unknown, patience: Patience, { signal }: CallOptions): unknown {
    if (error instanceof SendlimitError) return error;
    if (signal?.aborted) return signal.reason;
    const cause: unknown = patience.signal.aborted ? patience.signal.reason : error;
    const because = cause instanceof Error ? messageOf(cause) : String(cause);
    return new Unavailable(`no answer from the API at ${this.#base}: ${because}`, { cause });
  }
}

/** A name as one segment of a path. fetch takes "." and ".." for a folder, also if they are escaped. */
export function segment(field: string, name: string): string {
  if (name === "") throw new InvalidRequest(`${field} is missing`, field);
  if (name === "." || name === "..") {
    throw new InvalidRequest(`${field} ${name} can't be in a URL that fetch asks for: use another client for it`, field);
  }
  return encodeURIComponent(name);
}

function queryOf(query: Record<string, unknown> = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    all.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = all.toString();
  return text && `?${text}`;
}

/** Checks a base URL. The error does not repeat it, since it may hold a password. */
function checkedBase(baseUrl: string): string {
  let url: URL | undefined;
  try {
    url = new URL(baseUrl);
  } catch {
    // An error is thrown below.
  }
  if (!url || !/^https?:$/.test(url.protocol) || /[?#]/.test(baseUrl)) {
    throw new InvalidRequest(
      "baseUrl takes an http or https URL with a host, such as http://127.0.0.1:8080, and nothing behind its path", "baseUrl");
  }
  if (url.username || url.password) throw new InvalidRequest("baseUrl takes no user or password: use a key", "baseUrl");
  return url.href.replace(/\/+$/, "");
}

/** The message of an error, with that of its cause: fetch says only that it failed. */
function messageOf(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
