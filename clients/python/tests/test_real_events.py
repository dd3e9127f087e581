from __future__ import annotations

import time
import unittest
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from sendlimit import Cancel, Client, Followed

from .server import Cutting, api_url

LATER = datetime.now(timezone.utc) + timedelta(days=2)


class RealEventsTest(unittest.TestCase):
    """Follows the events of a real API."""

    def setUp(self) -> None:
        self.operator = Client(api_url())
        self.addCleanup(self.operator.close)
        self.between = Cutting()
        self.addCleanup(self.between.close)
        self.client = Client(self.between.url)
        self.addCleanup(self.client.close)

    def cancelled(self, id: str) -> None:
        self.operator.submit_message({"id": id, "user": "hal", "send_at": LATER, "title": "Hi"})
        self.operator.cancel_message("hal", id)

    def last_event(self) -> str:
        """Have the programs write events, and return the id of the last one."""
        deadline = time.monotonic() + 60
        while not (page := self.operator.read_events(after="0", limit=1000))["events"]:
            self.assertLess(time.monotonic(), deadline, "nothing writes events")
            self.cancelled(f"warm-{time.monotonic_ns()}")
            time.sleep(0.1)
        return page.get("next", "")

    def next_of(self, followed: Iterator[Followed], id: str) -> tuple[str, str]:
        """Return the type and the id of the next event of a message."""
        for one in followed:
            self.assertIsNone(one.gap_after)
            if one.event and one.event["subject"] == id:
                return one.event["type"], one.event["id"]
        raise AssertionError("the events ended")

    def test_events_go_on_behind_the_last_one_after_a_cut(self) -> None:
        after = self.last_event()
        cancel = Cancel(within=60)
        followed = self.client.follow_events(after=after, cancel=cancel)
        self.operator.submit_message({"id": "sent", "user": "ida", "send_at": "now", "title": "Hi"})
        kind, sent = self.next_of(followed, "sent")
        self.assertEqual(kind, "sendlimit.message.delivered")

        self.cancelled("while-connected")
        kind, while_connected = self.next_of(followed, "while-connected")
        self.assertEqual(kind, "sendlimit.message.cancelled")
        before = self.between.connections
        self.between.cut()
        self.cancelled("while-cut")
        kind, while_cut = self.next_of(followed, "while-cut")
        self.assertEqual(kind, "sendlimit.message.cancelled")
        self.assertGreater(self.between.connections, before)

        ids = [one["id"] for one in self.operator.read_events(after=after, limit=1000)["events"]]
        self.assertEqual([one for one in ids if one in (sent, while_connected, while_cut)], [sent, while_connected, while_cut])

    def test_a_gap_is_told(self) -> None:
        self.last_event()
        followed = self.client.follow_events(after="1-0", cancel=Cancel(within=60))
        self.assertEqual(next(followed), Followed(None, "1-0"))
        event = next(followed).event
        self.assertTrue(event and event["type"].startswith("sendlimit.message."))
