import { ResponseError, Unavailable } from "./errors.js";
import type { Event } from "./schemas.js";
import type { ServerSent } from "./serversent.js";

/** Which events to follow. */
export interface Following {
  /** The account; by default the key's own, and for a key with admin all. */
  account?: string;
  /** The id of the event to go on behind; "0" for all that are kept. By default from now on. */
  after?: string;
}

/** An event of a message, or a gap. */
export type Followed =
  | { event: Event; gap?: undefined }
  /** Events behind the one with this id may be missing: the API does not keep them any more. */
  | { event?: undefined; gap: { after: string } };

/** Opens a stream behind an event. */
export type Open = (after: string | undefined) => AsyncIterable<ServerSent>;

/** Waits until the next try. It throws the error if there is none. */
export type Pause = (error: unknown, attempt: number, begun: boolean, leastMs: number) => Promise<void>;

/** Follows events. A stream that ends is opened again behind the last event. */
export async function* follow(
  after: string | undefined, open: Open, pause: Pause,
): AsyncGenerator<Followed, void, undefined> {
  let begun = false;
  let retryMs = 0;
  for (let attempt = 1; ; attempt++) {
    try {
      for await (const sent of open(after)) {
        begun = true;
        retryMs = sent.retryMs ?? retryMs;
        after = sent.id ?? after;
        if (sent.id === undefined || sent.data !== undefined) attempt = 0; // an event or a heartbeat
        if (sent.event === "gap") yield { gap: { after: after ?? "" } };
        else if (sent.data !== undefined) yield { event: decode(sent.data) };
      }
      throw new Unavailable("the API ended the stream");
    } catch (error) {
      await pause(error, Math.max(attempt, 1), begun, retryMs);
    }
  }
}

function decode(data: string): Event {
  try {
    return JSON.parse(data) as Event;
  } catch {
    throw new ResponseError("the answer is none of this API: an event does not have the documented form");
  }
}
