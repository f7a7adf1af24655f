"""Replies kept for equal requests."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict

from agentworld_sim.llm.chat import ChatReply

LARGEST = 128 * 1024 * 1024
"""Bytes of text kept at most, whatever the number of entries: replies can be megabytes long."""


class RepliesCache:
    """The latest replies by key. Used from any thread."""

    def __init__(self, entries: int, *, size: int = LARGEST) -> None:
        self._entries = entries
        self._room = size
        self._replies: OrderedDict[bytes, ChatReply] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> ChatReply | None:
        with self._lock:
            reply = self._replies.get(key)
            if reply is not None:
                self._replies.move_to_end(key)
            return reply

    def put(self, key: bytes, reply: ChatReply) -> None:
        """Keeps a reply that came to its own end."""
        if not self._entries or reply.finish_reason != "stop":
            return
        with self._lock:
            if (old := self._replies.pop(key, None)) is not None:
                self._room += _size(old)
            self._replies[key] = reply
            self._room -= _size(reply)
            while self._replies and (self._room < 0 or len(self._replies) > self._entries):
                _, oldest = self._replies.popitem(last=False)
                self._room += _size(oldest)

    def drop(self, key: bytes) -> None:
        """Forgets a reply."""
        with self._lock:
            if (old := self._replies.pop(key, None)) is not None:
                self._room += _size(old)


def _size(reply: ChatReply) -> int:
    return sys.getsizeof(reply.content) + sys.getsizeof(reply.thinking)
