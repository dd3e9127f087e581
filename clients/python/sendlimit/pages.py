"""Lists that have pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from .errors import ResponseError

Page = TypeVar("Page")
Entry = TypeVar("Entry")


class Pages(Generic[Page, Entry]):
    """A list.

    Iterating over it yields the entries of all pages. It asks for the next page when one is
    used up.
    """

    def __init__(self, ask: Callable[[str | None], Page], member: str) -> None:
        self._ask = ask
        self._member = member

    def pages(self) -> Iterator[Page]:
        """Yield the pages as the API answers them."""
        cursor: str | None = None
        while True:
            page = self._ask(cursor)
            yield page
            following: str | None = cast(dict[str, Any], page).get("next_cursor")
            if not following:
                return
            if following == cursor:
                raise ResponseError("the list goes round: a page names itself as the next")
            cursor = following

    def __iter__(self) -> Iterator[Entry]:
        for page in self.pages():
            yield from cast(dict[str, Any], page)[self._member]
