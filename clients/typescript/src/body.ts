import { ResponseError } from "./errors.js";
import type { Patience } from "./patience.js";

/** The largest size of an answer. A page of 1,000 messages is much smaller. */
export const longestAnswer = 16 * 2 ** 20;

/** The largest size of a problem, and of a line of a stream. */
export const longestLine = 2 ** 20;

/** Reports whether an answer has a media type, with any parameters. */
export function is(response: Response, mediaType: string): boolean {
  return (response.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase() === mediaType;
}

/** Reads the body of an answer, up to a size. */
export async function readText(response: Response, most: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const bytes of chunks(response)) {
    size += bytes.length;
    if (size > most) throw undocumented(response, `it has more than ${most} bytes`);
    text += decoder.decode(bytes, { stream: true });
  }
  return text + decoder.decode();
}

/** Yields the lines of a body. The time runs only while it waits for the API. */
export async function* readLines(response: Response, patience: Patience): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of chunks(response)) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    rest = lines.pop() ?? "";
    patience.pause();
    yield* lines;
    if (rest.length > longestLine) throw undocumented(response, `a line has more than ${longestLine} characters`);
    patience.restart();
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

/** Decodes JSON of an answer. */
export function parse(response: Response, text: string, what: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // The text is not repeated: it may come from any server.
  }
  throw undocumented(response, `${what} does not have the documented form`);
}

/** The error for a success that this API does not send. */
export function undocumented(response: Response, why: string): ResponseError {
  return new ResponseError(`the answer is none of this API: ${why}`, {
    status: response.status, requestId: requestId(response),
  });
}

/** The id of the request that an answer belongs to. */
export function requestId(response: Response): string | undefined {
  return response.headers.get("X-Request-Id") ?? undefined;
}

/** Yields the bytes of a body. Not every browser can iterate over a stream. */
async function* chunks(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined); // it has ended, or nobody wants the rest
  }
}
