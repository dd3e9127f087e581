"""Ends calls early."""

from __future__ import annotations

import socket
import threading
import time


class Cancel:
    """Ends the calls that it is given to: after a time, or when somebody says so.

    The call then raises Cancelled. Whether the API did what was asked is unknown.
    """

    def __init__(self, within: float | None = None) -> None:
        """Make one that ends calls after some seconds; without, only cancel ends them."""
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._until = None if within is None else time.monotonic() + within
        self._sockets: set[socket.socket] = set()

    def cancel(self) -> None:
        """End the calls, also from another thread."""
        self._event.set()
        with self._lock:
            for sock in self._sockets:
                _shut(sock)

    @property
    def cancelled(self) -> bool:
        """Whether calls end."""
        return self._event.is_set() or self._left() == 0

    def _left(self) -> float | None:
        """Return the seconds left; None means no bound."""
        return None if self._until is None else max(self._until - time.monotonic(), 0)

    def _wait(self, seconds: float) -> None:
        """Wait, for as long as calls do not end."""
        left = self._left()
        self._event.wait(seconds if left is None else min(seconds, left))

    def _watch(self, sock: socket.socket) -> None:
        """Begin to end the call that uses a connection."""
        with self._lock:
            self._sockets.add(sock)
        if self._event.is_set():
            _shut(sock)

    def _leave(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(sock)


def _shut(sock: socket.socket) -> None:
    """Wake up whoever waits for a connection."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is already closed
