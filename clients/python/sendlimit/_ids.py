"""Ids of messages."""

from __future__ import annotations

import os
import time
import uuid


def new_id() -> str:
    """Return a new UUIDv7."""
    number = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10), "big")
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=number))
