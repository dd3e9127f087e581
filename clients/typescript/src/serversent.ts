/** The API sends a comment every 15 seconds when there are no events. */
export const threeHeartbeatsMs = 45_000;

/** A server-sent event, or what comes in place of one: a position, or a comment. */
export interface ServerSent {
  id?: string;
  event?: string;
  data?: string;
  /** How long to wait before the stream is opened again. */
  retryMs?: number;
}

/** Reads server-sent events. One that breaks off is left out. */
export async function* parseServerSent(lines: AsyncIterable<string>): AsyncGenerator<ServerSent, void, undefined> {
  let next: ServerSent = {};
  for await (const line of lines) {
    if (line === "") {
      yield next;
      next = {};
      continue;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (name === "id" || name === "event") next[name] = value;
    else if (name === "data") next.data = next.data === undefined ? value : `${next.data}\n${value}`;
    else if (name === "retry" && /^\d{1,6}$/.test(value)) next.retryMs = Number(value);
  }
}
