import { BatchError, InvalidRequest, type Refusal, ResponseError, Unavailable } from "./errors.js";
import { newId } from "./ids.js";
import { errorOf, invalidOf, refusalOf } from "./problems.js";
import type { Draft, Outcome } from "./schemas.js";

/** How many messages a request has at most. */
export const mostLines = 500;

/** A message with its id. */
export type Identified = Draft & { id: string };

/** The answer to one message of a batch: accepted, or the error. */
export type BatchResult = {
  /** Of the message in the batch, from 0. */
  index: number;
  message: Identified;
} & ({ accepted: Outcome; error?: undefined } | { accepted?: undefined; error: Refusal | InvalidRequest });

/** Sends messages once, and yields the lines of the answer. */
export type Send = (messages: Identified[]) => AsyncIterable<Outcome>;

/** Waits until the next try. It throws the error if there is none. */
export type Pause = (error: unknown, attempt: number) => Promise<void>;

/** Submits messages in requests of at most mostLines, and yields the results in order. */
export async function* submitAll(
  messages: Iterable<Draft> | AsyncIterable<Draft>, send: Send, pause: Pause,
): AsyncGenerator<BatchResult, void, undefined> {
  let index = 0;
  for await (const some of groups(messages)) {
    let open = some;
    for (let attempt = 1; open.length > 0; attempt++) {
      let answered = 0;
      try {
        for await (const line of send(open)) {
          const result = resultOf(index, open[answered], line, answered + 1);
          index++;
          answered++;
          yield result;
        }
        if (answered < open.length) throw new Unavailable("the API ended its answers before the last message");
        open = [];
      } catch (error) {
        if (answered > 0) attempt = 1;
        open = open.slice(answered);
        try {
          await pause(error, attempt);
        } catch (last) {
          throw new BatchError(open, last);
        }
      }
    }
  }
}

async function* groups(messages: Iterable<Draft> | AsyncIterable<Draft>): AsyncGenerator<Identified[], void, undefined> {
  let some: Identified[] = [];
  for await (const message of messages) {
    some.push({ ...message, id: message.id || newId() });
    if (some.length === mostLines) {
      yield some;
      some = [];
    }
  }
  if (some.length > 0) yield some;
}

function resultOf(index: number, message: Identified | undefined, line: Outcome, due: number): BatchResult {
  if (!message) throw new ResponseError("the API answered more lines than it was asked");
  if (line.line !== due) throw new ResponseError(`the API answered line ${line.line} where line ${due} was due`);
  switch (line.outcome) {
    case "accepted":
      return { index, message, accepted: line };
    case "refused":
      return { index, message, error: refusalOf(line) };
    case "invalid":
      return { index, message, error: invalidOf(line) };
    default:
      throw errorOf(line) ?? new ResponseError(`line ${due} is of no known kind`);
  }
}
