from __future__ import annotations

import unittest
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

from sendlimit import Client, InvalidRequest, Refusal, ResponseError
from sendlimit.types import Draft

from .server import api_url

# 11:11:11 on the day after tomorrow, UTC.
AT = datetime.now(timezone.utc).replace(hour=11, minute=11, second=11, microsecond=0) + timedelta(days=2)


def later(seconds: int) -> datetime:
    return AT + timedelta(seconds=seconds)


def spelled(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class RealTest(unittest.TestCase):
    """Calls a real API."""

    def setUp(self) -> None:
        self.operator = Client(api_url())
        self.addCleanup(self.operator.close)

    def refused(self, code: str, call: Callable[[], object]) -> Refusal:
        with self.assertRaises(Refusal) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_a_message_is_accepted_once_refused_with_the_reasons_moved_and_cancelled(self) -> None:
        api = self.operator
        table: Draft = {"id": "table", "user": "ann", "send_at": AT, "title": "Your table is ready", "data": {"table": "7"}}
        first = api.submit_message(table)
        self.assertEqual((first["outcome"], first.get("replayed")), ("accepted", None))
        self.assertTrue(api.submit_message(table).get("replayed"))

        refusal = self.refused(
            "send_limit", lambda: api.submit_message({"user": "ann", "send_at": later(34), "title": "Rate us"})
        )
        self.assertEqual(refusal.status, 409)
        self.assertEqual([(one["rule"], one["conflicts"][0]["id"]) for one in refusal.violations], [("1/minute", "table")])
        self.assertEqual((refusal.next_free_at, refusal.previous_free_at), (later(60), later(-60)))
        self.assertTrue(refusal.request_id)

        shifted = api.submit_message({"user": "ann", "send_at": later(34), "title": "Rate us", "on_conflict": "shift"})
        self.assertEqual((shifted["shifted"], shifted["send_at"]), (True, spelled(later(60))))
        moved = api.move_message("ann", "table", {"send_at": later(-600)})
        self.assertEqual(moved["moved_from"], spelled(AT))
        self.assertEqual(api.get_message("ann", "table")["title"], "Your table is ready")
        self.assertEqual(api.cancel_message("ann", "table")["outcome"], "cancelled")
        self.assertTrue(api.cancel_message("ann", "table")["replayed"])
        self.refused("not_found", lambda: api.get_message("ann", "nothing"))

        with self.assertRaises(InvalidRequest) as caught:
            api.submit_message({"user": "ann", "send_at": "soon", "title": "Rate us"})
        self.assertEqual((caught.exception.field, caught.exception.status), ("send_at", 422))

    def test_a_batch_of_more_than_one_request_is_judged_in_order(self) -> None:
        drafts: list[Draft] = [{"user": f"bea{n % 300}", "send_at": AT, "title": f"Hello {n}"} for n in range(600)]
        results = list(self.operator.submit_batch(drafts))
        self.assertEqual([one.index for one in results], list(range(600)))
        for one in results[:300]:
            self.assertTrue(one.accepted and one.accepted["id"] == one.message.get("id"), one)
        for one in results[300:]:
            self.assertTrue(isinstance(one.error, Refusal) and len(one.error.violations) == 1 and one.error.next_free_at, one)

    def test_a_dry_run_takes_nothing_and_judges_by_other_rules(self) -> None:
        api = self.operator
        drafts: list[Draft] = [{"user": "fay", "send_at": later(seconds), "title": "Hi"} for seconds in (0, 30, 60)]
        for results, accepted in (
            (api.check_batch(drafts), [True, False, True]),
            (api.check_batch(drafts, what_if="3/minute"), [True, True, True]),
            (api.check_batch(drafts, what_if_policy={"rules": ["1/hour"]}), [True, False, False]),
        ):
            self.assertEqual([one.accepted is not None for one in results], accepted)
        self.assertEqual(list(api.list_messages("fay")), [])

    def test_a_list_is_read_page_by_page(self) -> None:
        api = self.operator
        for n in range(5):
            api.submit_message({"id": f"m{n}", "user": "cara", "send_at": later(60 * n), "title": "Hi"})
        messages = api.list_messages("cara", from_=AT, limit=2)
        self.assertEqual([one["id"] for one in messages], ["m0", "m1", "m2", "m3", "m4"])
        self.assertEqual([len(page["messages"]) for page in messages.pages()], [2, 2, 1])
        self.assertEqual(len(api.get_next_free("cara", from_=AT, count=2)["times"]), 2)

    def test_a_change_can_require_a_version(self) -> None:
        api = self.operator
        before = api.get_user_settings("dora")
        self.assertEqual(before["etag"], '"0"')
        changed = api.change_user_settings("dora", {"limits": ["20/calendar_day"]}, if_match=before["etag"])
        self.assertEqual(changed["limits"], ["20/calendar_day"])
        self.refused(
            "version_mismatch", lambda: api.change_user_settings("dora", {"blocked": True}, if_match=before["etag"])
        )
        api.clear_user_settings("dora", if_match=changed["etag"])

    def test_a_preview_yields_its_lines(self) -> None:
        *_, last = self.operator.dry_run_policy("default", {"rules": ["1/calendar_day"]})
        self.assertEqual(last["outcome"], "dry_run")

    def test_sends_of_another_system_are_recorded(self) -> None:
        sent = datetime.now(timezone.utc) - timedelta(minutes=10)
        drafts: list[Draft] = [{"id": f"s{n % 600}", "user": f"gus{n % 600}", "send_at": sent, "title": ""} for n in range(601)]
        results = list(self.operator.record_sent([*drafts, {"user": "gus0", "send_at": AT}]))
        outcomes = [one.accepted and one.accepted["outcome"] for one in results]
        self.assertEqual(outcomes, ["recorded"] * 601 + [None])
        self.assertTrue(results[600].accepted and results[600].accepted["replayed"])
        self.assertTrue(isinstance(results[601].error, InvalidRequest) and results[601].error.field == "send_at")
        usage = self.operator.get_usage("gus0", from_=sent - timedelta(hours=1), until=datetime.now(timezone.utc))
        self.assertEqual([one["id"] for one in usage["sends"]], ["s0"])

    def test_dead_letters_and_alerts_are_removed_by_age(self) -> None:
        api = self.operator
        self.assertEqual(list(api.list_dead_alerts()), [])
        for purged in (api.purge_dead_letters(older_than="7d"), api.purge_dead_alerts(older_than="7d", limit=10)):
            self.assertEqual(purged, {"purged": 0, "more": False})
        alert = "daily_report/1795219200000/a/b"
        self.refused("not_found", lambda: api.get_dead_alert(alert))
        self.refused("not_found", lambda: api.retry_dead_alert(alert))
        with self.assertRaises(InvalidRequest) as caught:
            api.purge_dead_letters(older_than="week")
        self.assertEqual(caught.exception.field, "older_than")

    def test_a_tier_is_removed_and_a_key_rotated_with_an_overlap(self) -> None:
        api = self.operator
        api.set_tier("brief", {"messages_per_day": 5})
        self.assertEqual(api.remove_tier("brief")["outcome"], "removed")
        self.refused("not_found", lambda: api.get_tier("brief"))
        api.create_account({"name": "rotating"})
        first = api.add_account_key("rotating", {"scopes": ["read"]})
        second = api.rotate_account_key("rotating", first["id"], {"overlap": "1h"})
        third = api.rotate_account_key("rotating", second["id"], {"overlap": "0"})
        for key, works in ((first["key"], True), (second["key"], False), (third["key"], True)):
            with Client(api_url(), key=key) as client:
                if works:
                    self.assertEqual(client.get_own_usage()["account"], "rotating")
                else:
                    self.assertRaises(ResponseError, client.get_own_usage)

    def test_a_key_is_sent_and_a_wrong_one_is_an_error(self) -> None:
        self.operator.create_account({"name": "python"})
        key = self.operator.add_account_key("python", {"scopes": ["submit", "read"]})["key"]
        with Client(api_url(), key=key) as client, Client(api_url(), key=key[:-1]) as wrong:
            client.submit_message({"id": "own", "user": "eve", "send_at": AT, "title": "Hi"})
            self.assertEqual(client.get_message("eve", "own")["account"], "python")
            self.assertEqual(client.get_own_usage()["account"], "python")
            calls: list[tuple[str, Callable[[], object]]] = [
                ("forbidden", lambda: client.get_policy("default")), ("unauthorized", wrong.get_own_usage),
            ]
            for code, call in calls:
                with self.assertRaises(ResponseError) as caught:
                    call()
                self.assertEqual(caught.exception.code, code)
                self.assertNotIn(key[:-1], str(caught.exception))
