from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

from sendlimit import BatchError, InvalidRequest, Refusal, ResponseError, Unavailable
from sendlimit.types import Draft

from .server import MESSAGE, UNAVAILABLE, Answering, Asked, ScriptedTest, draft


def accepted(line: int, **more: object) -> dict[str, Any]:
    return {"outcome": "accepted", "line": line, "id": f"m{line}", "user": "alice", **more}


def ids(asked: Asked) -> list[str]:
    return [json.loads(line)["id"] for line in asked.body.splitlines()]


class StreamsTest(ScriptedTest):
    def test_a_batch_that_breaks_goes_on_with_the_messages_without_an_answer(self) -> None:
        def script(answer: Answering, n: int) -> None:
            if n == 0:
                answer.lines([accepted(1), UNAVAILABLE])
            elif n == 1:
                answer.reply(429, {"outcome": "refused", "code": "rate_limited"}, Retry_After="5")
            elif n == 2:
                answer.lines([accepted(1, outcome="refused", code="send_limit")], whole=False)
            else:
                answer.lines([accepted(1, outcome="invalid", code="invalid_field", field="title")])

        client, server = self.scripted(script)
        results = list(client.submit_batch([MESSAGE, MESSAGE, MESSAGE]))
        self.assertEqual([one.index for one in results], [0, 1, 2])
        self.assertTrue(results[0].accepted)
        self.assertIsInstance(results[1].error, Refusal)
        self.assertIsInstance(results[2].error, InvalidRequest)
        sent = [ids(asked) for asked in server.asked]
        self.assertEqual([len(some) for some in sent], [3, 2, 2, 1])
        self.assertEqual(sent[1:], [sent[0][1:], sent[0][1:], sent[0][2:]])
        self.assertEqual([one.message.get("id") for one in results], sent[0])
        self.assertTrue(5 <= client.waits[1] <= 5.2, client.waits)

    def test_a_batch_that_can_not_go_on_names_the_messages_without_an_answer(self) -> None:
        def script(answer: Answering, n: int) -> None:
            answer.reply(503, UNAVAILABLE) if n else answer.lines([accepted(1)])

        client, server = self.scripted(script, attempts=3)
        results = client.submit_batch([draft(id="x"), draft(id="y")])
        self.assertEqual(next(results).index, 0)
        with self.assertRaises(BatchError) as caught:
            next(results)
        error = caught.exception
        self.assertEqual([one.get("id") for one in error.unanswered], ["y"])
        self.assertEqual((error.code, str(error)), ("unavailable", "the batch ended with 1 messages unanswered: no Redis"))
        self.assertIsInstance(error.__cause__, Unavailable)
        self.assertEqual(len(server.asked), 3)

    def test_an_answer_to_another_line_ends_a_batch(self) -> None:
        for lines in ([accepted(2)], [accepted(1), accepted(2)], [accepted(1, outcome="mystery")]):
            client, server = self.scripted(lambda answer, n: answer.lines(lines))
            with self.assertRaises(BatchError) as caught:
                list(client.submit_batch([MESSAGE]))
            self.assertIsInstance(caught.exception.__cause__, ResponseError)
            self.assertEqual(len(server.asked), 1)

    def test_a_batch_reads_its_messages_as_it_goes(self) -> None:
        client, server = self.scripted(
            lambda answer, n: answer.lines([accepted(line + 1) for line in range(len(ids(server.asked[n])))])
        )
        read = 0

        def source() -> Iterator[Draft]:
            nonlocal read
            for read in range(1, 1201):
                yield draft(id=f"m{read}")

        for result in client.submit_batch(source(), without_free_times=True):
            if result.index == 499:
                self.assertEqual(read, 500)
        self.assertEqual([len(ids(asked)) for asked in server.asked], [500, 500, 200])
        self.assertEqual(server.asked[0].path, "/v1/messages/batch?without_free_times=true")

    def test_a_dry_run_is_sent_again_until_its_first_result_and_has_a_bound(self) -> None:
        def script(answer: Answering, n: int) -> None:
            answer.lines([accepted(1)]) if n else answer.reply(503, UNAVAILABLE)

        client, server = self.scripted(script)
        results = client.check_batch([MESSAGE, MESSAGE])
        self.assertEqual(next(results).index, 0)
        with self.assertRaises(BatchError) as caught:
            next(results)
        self.assertEqual((len(caught.exception.unanswered), len(server.asked)), (1, 2))
        with self.assertRaises(InvalidRequest):
            next(client.check_batch([MESSAGE] * 1001))
        self.assertEqual(len(server.asked), 2)

    def test_an_empty_batch_asks_nothing(self) -> None:
        client, server = self.scripted(lambda answer, n: answer.accept())
        self.assertEqual(list(client.submit_batch([])), [])
        self.assertEqual(server.asked, [])

    def test_a_stalled_stream_is_given_up(self) -> None:
        done = threading.Event()
        self.addCleanup(done.set)

        def script(answer: Answering, n: int) -> None:
            line = b'{"outcome":"progress"}\n'
            answer.send(200, "application/x-ndjson", line, Content_Length=str(2 * len(line)))
            done.wait(20)
            answer.cut()

        client, _ = self.scripted(script, timeout=1, attempts=1)
        lines = client.refit_policy("vip", then="shift")
        self.assertEqual(next(lines)["outcome"], "progress")
        with self.assertRaisesRegex(Unavailable, "timed out"):
            next(lines)

    def test_a_preview_is_sent_again_until_its_first_line_and_must_end_with_a_summary(self) -> None:
        def begins(answer: Answering, n: int) -> None:
            answer.lines([{"outcome": "progress"}]) if n else answer.reply(503, UNAVAILABLE)

        client, server = self.scripted(begins)
        with self.assertRaisesRegex(Unavailable, "ended before its summary"):
            list(client.dry_run_policy("vip", {"rules": ["1/day"]}))
        self.assertEqual(len(server.asked), 2)

        client, _ = self.scripted(lambda answer, n: answer.lines([{"outcome": "progress"}, {"outcome": "dry_run"}]))
        found = [line["outcome"] for line in client.dry_run_policy("vip", {"rules": ["1/day"]})]
        self.assertEqual(found, ["progress", "dry_run"])

        client, server = self.scripted(lambda answer, n: answer.lines([{"outcome": "error", "code": "refit_running"}]))
        with self.assertRaises(Refusal) as caught:
            list(client.refit_policy("vip", then="cancel"))
        self.assertEqual((caught.exception.code, len(server.asked)), ("refit_running", 1))

    def test_a_list_that_goes_round_ends_with_an_error(self) -> None:
        client, server = self.scripted(
            lambda answer, n: answer.reply(200, {"messages": [{"id": "a"}], "next_cursor": "c"})
        )
        with self.assertRaises(ResponseError):
            list(client.list_messages("alice", limit=1))
        self.assertEqual([asked.path for asked in server.asked], [
            "/v1/users/alice/messages?limit=1", "/v1/users/alice/messages?limit=1&cursor=c",
        ])
