from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

import sendlimit
from sendlimit import Cancel, Cancelled, Client, InvalidRequest, Refusal, ResponseError, SendlimitError, Unavailable

from .server import MESSAGE, UNAVAILABLE, Answering, ScriptedTest, draft

KEY = "sk_secret"


class RetryTest(ScriptedTest):
    def test_a_request_without_an_answer_is_sent_again_with_the_same_idempotency_key(self) -> None:
        def script(answer: Answering, n: int) -> None:
            [answer.cut, lambda: answer.reply(503, UNAVAILABLE), answer.accept, answer.accept][n]()

        client, server = self.scripted(script)
        self.assertEqual(client.submit_message(MESSAGE)["outcome"], "accepted")
        keys = [asked.headers["idempotency-key"] for asked in server.asked]
        self.assertRegex(keys[0], "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(keys, [keys[0]] * 3)
        self.assertEqual(len(client.waits), 2)
        self.assertTrue(0.05 <= client.waits[0] <= 0.1 <= client.waits[1] <= 0.2, client.waits)

        client.submit_message(MESSAGE)
        self.assertNotEqual(server.asked[3].headers["idempotency-key"], keys[0])  # another call, another message

    def test_a_message_with_an_id_needs_no_key_and_a_key_of_the_callers_is_sent(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.accept())
        client.submit_message(draft(id="order-17"))
        client.submit_message(MESSAGE, idempotency_key="order-18")
        self.assertEqual([asked.headers.get("idempotency-key") for asked in server.asked], [None, "order-18"])
        with self.assertRaises(InvalidRequest):
            client.submit_message(MESSAGE, idempotency_key="a\r\nb: c")

    def test_retry_after_is_honoured(self) -> None:
        clock = "Sun, 22 Nov 2026 10:00:03 GMT"
        for name, headers, least in (
            ("seconds", {"Retry_After": "3"}, 3),
            ("a date, by the clock of who sent it", {"Retry_After": "Sun, 22 Nov 2026 10:00:07 GMT", "Date": clock}, 4),
            ("a date in the past", {"Retry_After": "Sun, 22 Nov 2026 10:00:00 GMT", "Date": clock}, 0),
            ("no time", {"Retry_After": "soon"}, 0),
        ):
            def script(answer: Answering, n: int, headers: dict[str, str] = headers) -> None:
                answer.accept() if n else answer.reply(503, UNAVAILABLE, **headers)

            with self.subTest(name):
                client, _ = self.scripted(script)
                client.submit_message(MESSAGE)
                self.assertEqual(len(client.waits), 1)
                self.assertTrue(least <= client.waits[0] <= least + 0.1, client.waits)

    def test_a_longer_retry_after_than_the_longest_ends_the_attempts(self) -> None:
        for seconds in ("31", "9" * 5000):
            client, server = self.scripted(lambda answer, n: answer.reply(503, UNAVAILABLE, Retry_After=seconds))
            with self.assertRaises(Unavailable) as caught:
                client.submit_message(MESSAGE)
            self.assertGreaterEqual(caught.exception.retry_after or 0, 31)
            self.assertEqual(len(server.asked), 1)

    def test_attempts_bounds_how_often_a_request_is_sent(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.reply(503, UNAVAILABLE), attempts=3)
        with self.assertRaises(Unavailable) as caught:
            client.get_stats()
        error = caught.exception
        self.assertEqual((error.code, error.status, error.request_id, str(error)), ("unavailable", 503, "r-1", "no Redis"))
        self.assertEqual(len(server.asked), 3)
        self.assertEqual(len({asked.connection for asked in server.asked}), 1)  # it is kept

    def test_a_rate_limit_is_waited_for_and_a_refusal_is_not(self) -> None:
        for status, code, times in ((429, "rate_limited", 4), (429, "quota_exceeded", 1), (409, "send_limit", 1)):
            body = {"outcome": "refused", "code": code, "detail": "no", "retry_after_seconds": 2}
            client, server = self.scripted(lambda answer, n: answer.reply(status, body, Retry_After="1"))
            with self.assertRaises(Refusal) as caught:
                client.submit_message(MESSAGE)
            self.assertEqual((caught.exception.code, caught.exception.retry_after), (code, 1))
            self.assertEqual(len(server.asked), times, code)

    def test_what_would_be_done_twice_is_sent_again_only_if_it_was_not_begun(self) -> None:
        def script(answer: Answering, n: int) -> None:
            if n == 0:
                answer.reply(429, {"outcome": "refused", "code": "rate_limited", "detail": "too many"})
            else:
                answer.reply(503, UNAVAILABLE)

        client, server = self.scripted(script)
        with self.assertRaises(Unavailable):
            client.add_account_key("acme", {"scopes": ["read"]})
        self.assertEqual(len(server.asked), 2)

    def test_a_kept_connection_that_the_server_closed_costs_no_try(self) -> None:
        def script(answer: Answering, n: int) -> None:
            answer.accept()
            answer.cut()  # without having said so

        client, server = self.scripted(script, attempts=1)
        for _ in range(3):
            client.submit_message(MESSAGE)
        self.assertEqual(len(server.asked), 3)
        self.assertEqual(client.waits, [])

    def test_a_redirect_is_not_followed(self) -> None:
        _, elsewhere = self.scripted(lambda answer, n: answer.accept())
        client, server = self.scripted(
            lambda answer, n: answer.send(307, "text/plain", b"", Location=elsewhere.url + "/v1/messages"), key=KEY
        )
        with self.assertRaisesRegex(ResponseError, "redirect"):
            client.submit_message(MESSAGE)
        self.assertEqual(server.asked[0].headers["authorization"], f"Bearer {KEY}")
        self.assertEqual(elsewhere.asked, [])

    def test_a_try_that_takes_too_long_is_given_up(self) -> None:
        for begin in (False, True):
            done = threading.Event()
            self.addCleanup(done.set)

            def script(answer: Answering, n: int, begin: bool = begin) -> None:
                if begin:
                    answer.send(200, "application/json", b"{", Content_Length="2")
                done.wait(20)
                answer.cut()

            client, server = self.scripted(script, timeout=0.5, attempts=2)
            with self.assertRaisesRegex(Unavailable, "timed out"):
                client.get_stats()
            self.assertEqual(len(server.asked), 2)

    def test_a_cancel_ends_a_call_and_its_waits(self) -> None:
        stop, done = Cancel(), threading.Event()
        self.addCleanup(done.set)

        def script(answer: Answering, n: int) -> None:
            stop.cancel()
            done.wait(20)
            answer.cut()

        client, server = self.scripted(script)
        with self.assertRaises(Cancelled):
            client.get_stats(cancel=stop)
        with self.assertRaises(Cancelled):
            client.get_stats(cancel=stop)
        self.assertEqual((len(server.asked), client.waits), (1, []))

        _, away = self.scripted(lambda answer, n: answer.reply(503, UNAVAILABLE, Retry_After="29"))
        with self.assertRaises(Cancelled), Client(away.url) as waiting:
            waiting.get_stats(cancel=Cancel(within=0.2))

    def test_no_error_and_no_printed_client_has_the_key(self) -> None:
        body = {"outcome": "error", "code": "unauthorized", "detail": "wrong key"}
        client, _ = self.scripted(lambda answer, n: answer.reply(401, body), key=KEY)
        for one in (client, Client("http://127.0.0.1:1", key=KEY, attempts=1)):
            with self.assertRaises(SendlimitError) as caught:
                one.get_stats()
            for shown in (caught.exception, caught.exception.__dict__, one, vars(one)):
                self.assertNotIn(KEY, repr(shown))
        for bad in (f"{KEY} x", f"{KEY}\n", f"{KEY}é"):
            with self.assertRaises(InvalidRequest) as wrong:
                Client("http://127.0.0.1:1", key=bad)
            self.assertNotIn(KEY, str(wrong.exception))
        with self.assertRaises(InvalidRequest) as wrong:
            Client(f"http://user:{KEY}@127.0.0.1")
        self.assertNotIn(KEY, str(wrong.exception))

    def test_wrong_options_are_refused_by_name(self) -> None:
        wrong: list[tuple[str, str, dict[str, Any]]] = [
            ("base_url", "127.0.0.1:8080", {}), ("base_url", "ftp://a", {}), ("base_url", "http://a/?b", {}),
            ("base_url", "http://a:b", {}), ("attempts", "http://a", {"attempts": 0}),
            ("timeout", "http://a", {"timeout": 0}), ("max_retry_after", "http://a", {"max_retry_after": float("nan")}),
        ]
        for field, url, options in wrong:
            with self.subTest(field=field, url=url), self.assertRaises(InvalidRequest) as caught:
                Client(url, **options)
            self.assertEqual(caught.exception.field, field)

    def test_an_answer_of_another_server_is_an_error(self) -> None:
        for status, kind, body in (
            (200, "text/html", b"<html>"), (200, "application/json", b"[1"), (200, "application/json", b"7"),
            (404, "text/html", b"<html>"), (404, "application/problem+json", b'{"outcome":"refused","code":"not_found"}'),
        ):
            client, server = self.scripted(lambda answer, n: answer.send(status, kind, body))
            with self.assertRaises(ResponseError) as caught:
                client.get_stats()
            self.assertEqual((caught.exception.status, len(server.asked)), (status, 1))

    def test_an_answer_that_is_too_long_is_not_read_to_its_end(self) -> None:
        client, _ = self.scripted(lambda answer, n: answer.send(200, "application/json", b" " * (18 << 20)))
        with self.assertRaisesRegex(ResponseError, "16777216 bytes"):
            client.get_stats()

    def test_an_answer_that_is_cut_is_asked_for_again(self) -> None:
        def script(answer: Answering, n: int) -> None:
            if n == 0:
                answer.send(200, "application/json", b"{}", Content_Length="3")
                answer.cut()
            else:
                answer.accept()

        client, server = self.scripted(script)
        client.get_stats()
        self.assertEqual(len(server.asked), 2)

    def test_names_are_one_segment_of_the_path_and_not_empty(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.accept())
        for user in ("a/b", "..", "ü ?"):
            client.get_message(user, "x")
        self.assertEqual([asked.path for asked in server.asked], [
            "/v1/users/a%2Fb/messages/x", "/v1/users/%2E%2E/messages/x", "/v1/users/%C3%BC%20%3F/messages/x",
        ])
        with self.assertRaises(InvalidRequest) as caught:
            client.get_message("", "x")
        self.assertEqual(caught.exception.field, "user")

    def test_text_that_is_no_utf_8_and_a_time_without_a_zone_are_not_sent(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.accept())
        with self.assertRaises(InvalidRequest):
            client.submit_message(draft(title="\ud800"))
        with self.assertRaises(InvalidRequest):
            client.get_message("\ud800", "x")
        with self.assertRaises(InvalidRequest):
            client.submit_message(draft(send_at=datetime(2026, 11, 22)))
        self.assertEqual(server.asked, [])

    def test_codes_compare_with_texts(self) -> None:
        self.assertEqual(sendlimit.Code.SEND_LIMIT, "send_limit")
