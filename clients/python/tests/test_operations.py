from __future__ import annotations

import json
import re
import urllib.request
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sendlimit import SendlimitError

from .server import MESSAGE, Answering, ScriptedTest, api_url


class OperationsTest(ScriptedTest):
    def test_every_operation_of_the_document_has_a_method_which_sends_every_parameter(self) -> None:
        with urllib.request.urlopen(api_url() + "/openapi.json") as answer:
            document = json.load(answer)

        def fail(answer: Answering, n: int) -> None:
            answer.reply(500, {"outcome": "error", "code": "internal", "status": 500})

        client, server = self.scripted(fail)
        operations = [(path, verb, item[verb]) for path, item in document["paths"].items() for verb in item]
        self.assertGreaterEqual(len(operations), 40)
        for path, verb, operation in operations:
            name = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), operation["operationId"])
            with self.subTest(name):
                self.calls(name, path, verb, operation, client, server)

    def calls(self, name: str, path: str, verb: str, operation: dict[str, Any], client: Any, server: Any) -> None:
        self.assertTrue(hasattr(client, name), f"no method {name}")
        server.asked.clear()
        given: list[object] = []
        more: dict[str, object] = {}
        query: dict[str, str] = {}
        if path.startswith("/v1/messages/batch"):
            given = [[MESSAGE]]
        elif "requestBody" in operation:
            given = [{"title": "Hi"}]
        parameters = operation.get("parameters", [])
        if name == "follow_events":
            # read_events sends the first two; a stream is resumed with the parameter after.
            parameters = [one for one in parameters if one["name"] not in ("follow", "limit", "Last-Event-Id")]
        for parameter in reversed(parameters):
            key, schema = parameter["name"], parameter["schema"]
            if parameter["in"] == "path":
                given.insert(0, f"a {key}")
            elif parameter["in"] == "query":
                kind = {"integer": 7, "boolean": True}.get(schema.get("type", ""), f"a {key}")
                value = schema.get("enum", [kind])[0]
                # The document of a policy is a line of the body, and the parameter says so.
                given_value = {"rules": ["1/day"]} if key == "what_if_policy" else value
                more["from_" if key == "from" else key] = given_value
                query[key] = "true" if value is True else str(value)
            else:
                more[key.lower().replace("-", "_")] = '"7"'
        with self.assertRaises(SendlimitError) as caught:
            result = getattr(client, name)(*given, **more)
            for _ in result:
                self.fail("it has an answer")
        self.assertEqual(caught.exception.code, "internal")
        asked = server.asked[0]
        url = urlsplit(asked.path)
        self.assertEqual((asked.method, url.path), (verb.upper(), re.sub(r"\{(\w+)\}", r"a%20\1", path)))
        self.assertEqual(dict(parse_qsl(url.query)), query)
        self.assertEqual(bool(asked.body), "requestBody" in operation)
        for parameter in parameters:
            if parameter["in"] == "header":
                self.assertEqual(asked.headers.get(parameter["name"].lower()), '"7"')
