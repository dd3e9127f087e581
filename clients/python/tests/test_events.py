from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice

from sendlimit import Cancel, Cancelled, Followed, Refusal, ResponseError, Unavailable

from .server import UNAVAILABLE, Answering, ScriptedTest


def events(answer: Answering, text: str, ends: bool = True) -> None:
    """Answer with server-sent events. Without ends the stream is cut."""
    body = text.encode()
    length = len(body) if ends else len(body) + 10
    answer.send(200, "text/event-stream", body, Content_Length=str(length))
    if not ends:
        answer.cut()


def event(number: int) -> str:
    return f'id: {number}-0\nevent: sendlimit.message.moved\ndata: {{"id":"{number}-0","subject":"m"}}\n\n'


def take(given: Iterator[Followed], count: int) -> list[str]:
    return [one.event["id"] if one.event else f"gap after {one.gap_after}" for one in islice(given, count)]


class EventsTest(ScriptedTest):
    def test_a_stream_that_ends_is_opened_again_behind_the_last_event(self) -> None:
        def script(answer: Answering, n: int) -> None:
            if n == 0:
                events(answer, "retry: 700\nid: 1-0\n\n")
            elif n == 1:
                events(answer, event(2) + ': still here\n\nid: 3-0\ndata: {"id"')
            elif n < 9:  # longer than the attempts
                answer.reply(503, UNAVAILABLE)
            elif n == 9:
                events(answer, 'event: gap\ndata: {"after":"2-0"}\n\n' + event(4), ends=False)
            else:
                events(answer, event(5))

        client, server = self.scripted(script)
        self.assertEqual(take(client.follow_events(account="acme"), 4), ["2-0", "gap after 2-0", "4-0", "5-0"])
        self.assertEqual([server.asked[n].path for n in (0, 1, 2, 9, 10)], [
            "/v1/events?account=acme", "/v1/events?account=acme&after=1-0", "/v1/events?account=acme&after=2-0",
            "/v1/events?account=acme&after=2-0", "/v1/events?account=acme&after=4-0",
        ])
        self.assertTrue(all(seconds >= 0.7 for seconds in client.waits), client.waits)

    def test_a_stream_that_never_begins_or_is_refused_ends(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.reply(503, UNAVAILABLE))
        with self.assertRaises(Unavailable):
            take(client.follow_events(), 1)
        self.assertEqual(len(server.asked), 4)

        def forbidden(answer: Answering, n: int) -> None:
            answer.reply(403, {"outcome": "error", "code": "forbidden"}) if n else events(answer, event(1))

        client, _ = self.scripted(forbidden)
        with self.assertRaises(ResponseError) as caught:
            take(client.follow_events(), 2)
        self.assertEqual(caught.exception.code, "forbidden")
        client, _ = self.scripted(lambda answer, n: events(answer, event(1)), attempts=1)
        with self.assertRaises(Unavailable):
            take(client.follow_events(), 2)
        full = {"outcome": "refused", "code": "rate_limited"}
        client, _ = self.scripted(lambda answer, n: answer.reply(429, full), attempts=2)
        with self.assertRaises(Refusal):
            take(client.follow_events(), 1)

    def test_a_cancel_ends_a_stream(self) -> None:
        done = threading.Event()
        self.addCleanup(done.set)

        def script(answer: Answering, n: int) -> None:
            body = event(1).encode()
            answer.send(200, "text/event-stream", body, Content_Length=str(2 * len(body)))
            done.wait(20)
            answer.cut()

        client, _ = self.scripted(script)
        cancel = Cancel()
        followed = client.follow_events(cancel=cancel)
        next(followed)
        threading.Timer(0.05, cancel.cancel).start()
        with self.assertRaises(Cancelled):
            next(followed)

    def test_a_page_of_events_is_read(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.reply(200, {"events": [], "next": "7-0"}))
        self.assertEqual(client.read_events(after="6-0", limit=5).get("next"), "7-0")
        self.assertEqual(server.asked[0].path, "/v1/events?after=6-0&limit=5&follow=false")
