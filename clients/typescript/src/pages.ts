import { ResponseError } from "./errors.js";

/**
 * A list. Iterating over it yields the entries of all pages; it asks for the next page when
 * one is used up.
 */
export class Pages<Page, Entry> implements AsyncIterable<Entry> {
  /**
   * @param ask Asks for the page of a cursor, or for the first one.
   * @param member The member of a page that has the entries.
   */
  constructor(
    private readonly ask: (cursor: string | undefined) => Promise<Page>,
    private readonly member: keyof Page,
  ) {}

  /** Yields the pages as the API answers them. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.ask(cursor);
      yield page;
      const { next_cursor: next } = page as { next_cursor?: string };
      if (next && next === cursor) {
        throw new ResponseError("the list goes round: a page names itself as the next");
      }
      cursor = next;
    } while (cursor);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for await (const page of this.pages()) {
      yield* page[this.member] as Entry[];
    }
  }
}
