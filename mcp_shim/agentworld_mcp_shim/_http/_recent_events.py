"""What was sent to clients over HTTP a moment ago, so that one whose stream broke can have it again."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId

if TYPE_CHECKING:
    from mcp.types import JSONRPCMessage

MAX_EVENTS = 100
"""Kept of one stream."""
MAX_STREAMS = 1_000
"""Kept at all; the one that was silent longest goes first."""

RETRY_MS = 500
"""How long a client waits before it asks again."""


class RecentEvents(EventStore):
    """Implements the SDK's `EventStore` in memory.

    One store serves all sessions of a process, and an event's id is all that a client must know to have
    what followed. So ids are 128 random bits.
    """

    def __init__(self) -> None:
        self._streams: OrderedDict[StreamId, OrderedDict[EventId, JSONRPCMessage | None]] = (
            OrderedDict()
        )
        self._stream_of: dict[EventId, StreamId] = {}

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        event = secrets.token_hex(16)
        events = self._streams.setdefault(stream_id, OrderedDict())
        self._streams.move_to_end(stream_id)
        events[event] = message
        self._stream_of[event] = stream_id
        if len(events) > MAX_EVENTS:
            oldest, _ = events.popitem(last=False)
            del self._stream_of[oldest]
        if len(self._streams) > MAX_STREAMS:
            _, dropped = self._streams.popitem(last=False)
            for one in dropped:
                del self._stream_of[one]
        return event

    async def replay_events_after(
        self, last_event_id: EventId, send_callback: EventCallback
    ) -> StreamId | None:
        stream = self._stream_of.get(last_event_id)
        if stream is None:
            return None
        events = list(self._streams[stream].items())
        seen = [event for event, _ in events].index(last_event_id)
        for event, message in events[seen + 1 :]:
            if message is not None:
                await send_callback(EventMessage(message, event))
        return stream
