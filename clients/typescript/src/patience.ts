/** Ends a try that waits too long, or whose caller aborts it. */
export class Patience {
  readonly #abort = new AbortController();
  readonly #forward = (): void => this.#abort.abort(this.caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param caller The signal of the caller, if there is one. */
  constructor(private readonly timeoutMs: number, private readonly caller: AbortSignal | undefined) {
    if (caller?.aborted) this.#forward();
    caller?.addEventListener("abort", this.#forward, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Starts the time anew. */
  restart(): void {
    this.pause();
    this.#timer = setTimeout(() => this.#abort.abort(new Error(`no answer within ${this.timeoutMs} ms`)), this.timeoutMs);
  }

  /** Stops the time, while the caller has the turn. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Releases the timer, the caller's signal, and a request that is still under way. */
  end(): void {
    this.pause();
    this.caller?.removeEventListener("abort", this.#forward);
    this.#abort.abort();
  }
}
