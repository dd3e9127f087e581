"""Calls the HTTP API of sendlimit. It needs only Python's standard library."""

from . import types
from ._batch import BatchResult
from ._events import Followed
from .cancel import Cancel
from .client import Client
from .errors import BatchError, Cancelled, InvalidRequest, Refusal, ResponseError, SendlimitError, Unavailable
from .pages import Pages
from .types import Code
from .webhook import WebhookError, verify_webhook

__all__ = [
    "BatchError", "BatchResult", "Cancel", "Cancelled", "Client", "Code", "Followed", "InvalidRequest", "Pages", "Refusal",
    "ResponseError", "SendlimitError", "Unavailable", "WebhookError", "types", "verify_webhook",
]
