import type { Code, Draft, Outcome, QuietHours, Violation } from "./schemas.js";

/** What an error has that is not about the answer's body. */
export interface About {
  code?: Code | undefined;
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** The class of all errors of this client. No error contains the key. */
export class SendlimitError extends Error {
  /** The code of a refusal or an error, for programs. More may be added. */
  readonly code: Code | undefined;
  /** The HTTP status; undefined without an answer, and within a stream. */
  readonly status: number | undefined;
  /** Identifies the request in the API's log. */
  readonly requestId: string | undefined;
  /** How long to wait, if the API said so. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, about: About = {}) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.name = new.target.name;
    this.code = about.code;
    this.status = about.status;
    this.requestId = about.requestId;
    this.retryAfterMs = about.retryAfterMs;
  }
}

/**
 * The request was judged and refused. The same request is refused again until something else
 * changes.
 */
export class Refusal extends SendlimitError {
  declare readonly code: Code;
  /** The whole answer. */
  readonly answer: Outcome;

  constructor(answer: Outcome, about: About = {}) {
    const code = answer.code ?? about.code ?? "";
    super(answer.detail ?? `refused: ${code}`, { ...about, code });
    this.answer = answer;
  }

  /** Every rule that the message would break, in the policy's order; with send_limit. */
  get violations(): Violation[] {
    return this.answer.violations ?? [];
  }

  /** The quiet hours that contain the send time; with quiet_hours. */
  get quietHours(): QuietHours | undefined {
    return this.answer.quiet_hours;
  }

  /** The next free time. Submitting at it is accepted if nothing else came first. */
  get nextFreeAt(): Date | undefined {
    return time(this.answer.next_free_at);
  }

  /** The last free time before the requested one. */
  get previousFreeAt(): Date | undefined {
    return time(this.answer.previous_free_at);
  }

  /** The end of the hour or day whose quota is used up; with quota_exceeded. */
  get resetsAt(): Date | undefined {
    return time(this.answer.resets_at);
  }
}

/** The request is wrong. Nothing was done. */
export class InvalidRequest extends SendlimitError {
  declare readonly code: Code;
  /** The field or option that is wrong, of several the first. */
  readonly field: string | undefined;

  constructor(detail: string, field?: string, about: About = {}) {
    super(detail, { ...about, code: about.code ?? "invalid_field" });
    this.field = field;
  }
}

/**
 * The API or its store can't be used right now. The request may have been done. To send it
 * again is safe if the message has the same id.
 */
export class Unavailable extends SendlimitError {
  declare readonly code: Code;

  constructor(detail: string, about: About = {}) {
    super(detail, { ...about, code: about.code ?? "unavailable" });
  }
}

/**
 * Any other answer: about the key (unauthorized, forbidden), an error of the API itself, or
 * one from another server.
 */
export class ResponseError extends SendlimitError {}

/** A batch ended before its last message. Earlier results are valid. */
export class BatchError extends SendlimitError {
  /**
   * The messages that were read and have no result, with their ids. Some may have been
   * accepted; to submit them again with these ids is safe.
   */
  readonly unanswered: (Draft & { id: string })[];

  constructor(unanswered: (Draft & { id: string })[], cause: unknown) {
    const because = cause instanceof Error ? cause.message : String(cause);
    const about = cause instanceof SendlimitError ? cause : undefined;
    super(`the batch ended with ${unanswered.length} messages unanswered: ${because}`, {
      code: about?.code, status: about?.status, requestId: about?.requestId, retryAfterMs: about?.retryAfterMs, cause,
    });
    this.unanswered = unanswered;
  }
}

function time(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}
