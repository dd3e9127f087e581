"""A webhook's receiver, to start from: it verifies the signature, handles each message once,
and answers so that nothing is lost. It needs Python 3.9 and nothing else. Point push_url at it:

    WEBHOOK_SECRET=whsec_… python3 receiver.py --listen 127.0.0.1:9000 --database messages.db
"""

import argparse
import base64
import binascii
import hashlib
import hmac
import json
import os
import signal
import sqlite3
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY = 64 * 1024  # bytes, more than any message has
TOLERANCE = 5 * 60  # seconds that a timestamp may be away


def key_of(secret: str) -> bytes:
    """Returns the key of a secret: the base64 after whsec_."""
    encoded = secret[len("whsec_"):] if secret.startswith("whsec_") else ""
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("WEBHOOK_SECRET has to be the push_secret of the worker: whsec_ followed by base64")
    return key


def verified(key: bytes, message_id: str, timestamp: str, signatures: str, body: bytes, now: float) -> bool:
    """Reports whether one of the signatures is right, as Standard Webhooks say."""
    if not message_id or not timestamp.isascii() or not timestamp.isdigit() or abs(now - int(timestamp)) > TOLERANCE:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    want = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(want.encode(), got.encode()) for got in signatures.split(" "))


class Store:
    """Keeps messages in SQLite. The id is a unique key: a second copy changes nothing."""

    def __init__(self, path: str):
        self.path = path
        with self.open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, message TEXT NOT NULL)")
        database.close()

    def open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=5)

    def handle(self, message_id: str, message: str) -> None:
        """Does what there is to do for a message, in the transaction that notes its id."""
        database = self.open()
        try:
            with database:
                database.execute("INSERT OR IGNORE INTO messages VALUES (?, ?)", (message_id, message))
        finally:
            database.close()


class Receiver(BaseHTTPRequestHandler):
    """Answers a worker:

    204  the message is handled, now or before
    400  the body is no message: the worker gives it up
    401  the signature is wrong: the worker keeps all messages until somebody mends it
    500  it can't be handled now: the worker tries again
    """

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that a connection may be idle
    key: bytes
    store: Store

    def do_GET(self) -> None:
        self.answer(405, {"Allow": "POST"})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            self.close_connection = True  # the body is not read
            self.answer(400)
            return
        body = self.rfile.read(int(length))
        message_id = self.headers.get("webhook-id", "")
        timestamp = self.headers.get("webhook-timestamp", "")
        if not verified(self.key, message_id, timestamp, self.headers.get("webhook-signature", ""), body, time.time()):
            self.answer(401)
            return
        try:
            message = json.dumps(json.loads(body))
        except ValueError:
            self.answer(400)
            return
        try:
            self.store.handle(message_id, message)
        except sqlite3.Error as problem:
            print(f"a message was not stored: {problem}", file=sys.stderr)
            self.answer(500)
            return
        self.answer(204)

    def answer(self, status: int, headers: "dict[str, str] | None" = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: a line for each message is too much."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--listen", default="127.0.0.1:9000", help="address to listen on")
    arguments.add_argument("--database", default="messages.db", help="SQLite file that gets a row for each message")
    given = arguments.parse_args()
    host, _, port = given.listen.rpartition(":")
    try:
        Receiver.key = key_of(os.environ.get("WEBHOOK_SECRET", ""))
    except ValueError as problem:
        sys.exit(str(problem))
    Receiver.store = Store(given.database)
    server = ThreadingHTTPServer((host, int(port)), Receiver)
    print(f"listening on http://{server.server_address[0]}:{server.server_address[1]}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as a service manager ends it
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
