import base64
import hashlib
import hmac
import time
import unittest

from sendlimit import WebhookError, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def signed(secret: str, at: float, body: bytes) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"msg_1.{int(at)}.".encode() + body
    signature = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(int(at)), "Webhook-Signature": "v1," + signature}


class Webhooks(unittest.TestCase):
    def test_what_was_signed_is_taken(self) -> None:
        now = time.time()
        verify_webhook(SECRET, signed(SECRET, now, b"{}"), b"{}")
        both = signed(SECRET, now, b"{}")
        both["Webhook-Signature"] = signed(OTHER, now, b"{}")["Webhook-Signature"] + " " + both["Webhook-Signature"]
        verify_webhook(SECRET, both, b"{}")

    def test_what_was_not_signed_is_refused(self) -> None:
        now = time.time()
        cases: list[tuple[dict[str, str], bytes]] = [
            (signed(OTHER, now, b"{}"), b"{}"), (signed(SECRET, now, b"{}"), b"{ }"), (signed(SECRET, now - 360, b"{}"), b"{}"),
            (signed(SECRET, now + 360, b"{}"), b"{}"), ({}, b"{}"), ({**signed(SECRET, now, b"{}"), "Webhook-Signature": "v1,ä"}, b"{}"),
            ({**signed(SECRET, now, b"{}"), "Webhook-Timestamp": "²"}, b"{}"),
        ]
        for headers, body in cases:
            with self.assertRaises(WebhookError):
                verify_webhook(SECRET, headers, body)
        for secret in ["", "whsec_", "whsec_#", SECRET.removeprefix("whsec_")]:
            with self.assertRaises(ValueError):
                verify_webhook(secret, signed(SECRET, now, b"{}"), b"{}")

    def test_the_example_of_the_specification(self) -> None:
        # Its time is long over; the signature is what the specification prints.
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        content = b'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}'
        self.assertEqual(base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()), b"g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
