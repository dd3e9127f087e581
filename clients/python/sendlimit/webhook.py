"""Verifies what a worker sends: deliveries, callbacks and notices, in the form of Standard Webhooks."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

TOLERANCE = 5 * 60  # seconds


class WebhookError(Exception):
    """The request is not what a worker signed with the secret."""


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    """Raises WebhookError unless the request was signed with the secret, at most five minutes ago.

    The secret begins with "whsec_". body is the body as it came: JSON that was read and written again
    has another signature. Keep the header webhook-id of what you handled, since a request may come
    again. While a secret is rotated there are two signatures, and one has to fit.
    """
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not key or not secret.startswith("whsec_"):
        raise ValueError("the secret is not valid: it is whsec_ and base64")
    given = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not message_id or not timestamp.isascii() or not timestamp.isdigit():
        raise WebhookError("the webhook has no id or no timestamp")
    if abs(time.time() - int(timestamp)) > TOLERANCE:
        raise WebhookError("the webhook is more than five minutes old or early")
    content = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest())
    for signature in given.get("webhook-signature", "").split():
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), expected):
            return
    raise WebhookError("no signature of the webhook fits")
