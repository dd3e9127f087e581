import { BatchError, InvalidRequest, type Refusal, ResponseError, Unavailable } from "./errors.js";
import { newId } from "./ids.js";
import { errorOf, invalidOf, refusalOf } from "./problems.js";
import type { Draft, Outcome } from "./schemas.js";

/** How many messages a request has at most. */
export const mostLines = 500;

/**
 * How many messages a dry run has at most. The API takes 10,000, but it answers while it reads,
 * and not every fetch reads an answer before it has sent everything. A dry run can't be split:
 * its earlier messages count.
 */
export const mostChecked = 1000;

/** A message with its id. */
export type Identified = Draft & { id: string };

/** The answer to one message of a batch: accepted, which holds also what is recorded, or the error. */
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
  for await (const some of groups(messages, mostLines)) {
    let open = some;
    for (let attempt = 1; open.length > 0; attempt++) {
      let answered = 0;
      try {
        for await (const result of resultsOf(open, index, 0, send)) {
          index++;
          answered++;
          yield result;
        }
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

/**
 * Judges messages in one request, and yields the results in order. It is sent again until the
 * first result: after that, what was judged is lost.
 *
 * @param before How many lines come before the messages.
 */
export async function* checkAll(
  messages: Iterable<Draft> | AsyncIterable<Draft>, before: number, send: Send, pause: Pause,
): AsyncGenerator<BatchResult, void, undefined> {
  const all: Identified[] = [];
  for await (const some of groups(messages, mostChecked + 1)) {
    if (some.length > mostChecked) {
      throw new InvalidRequest(`messages has more than ${mostChecked}, the most of a dry run with this client: check fewer at a time`, "messages");
    }
    all.push(...some);
  }
  for (let attempt = 1; all.length > 0; attempt++) {
    let answered = 0;
    try {
      for await (const result of resultsOf(all, 0, before, send)) {
        answered++;
        yield result;
      }
      return;
    } catch (error) {
      try {
        if (answered > 0) throw error;
        await pause(error, attempt);
      } catch (last) {
        throw new BatchError(all.slice(answered), last);
      }
    }
  }
}

/** Sends messages once, and yields their results, which begin with an index. */
async function* resultsOf(
  messages: Identified[], index: number, before: number, send: Send,
): AsyncGenerator<BatchResult, void, undefined> {
  let answered = 0;
  for await (const line of send(messages)) {
    yield resultOf(index + answered, messages[answered], line, before + answered + 1);
    answered++;
  }
  if (answered < messages.length) throw new Unavailable("the API ended its answers before the last message");
}

async function* groups(
  messages: Iterable<Draft> | AsyncIterable<Draft>, most: number,
): AsyncGenerator<Identified[], void, undefined> {
  let some: Identified[] = [];
  for await (const message of messages) {
    some.push({ ...message, id: message.id || newId() });
    if (some.length === most) {
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
    case "recorded":
      return { index, message, accepted: line };
    case "refused":
      return { index, message, error: refusalOf(line) };
    case "invalid":
      return { index, message, error: invalidOf(line) };
    default:
      throw errorOf(line) ?? new ResponseError(`line ${due} is of no known kind`);
  }
}
