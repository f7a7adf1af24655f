"""Brief work that blocks: in a thread, or on the event loop where its owner allows that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

ALLOWED: ContextVar[bool] = ContextVar("brief work may block the event loop", default=False)
"""Set by programs that own their event loop: going to a thread and back costs more than most calls, and
servers that watch for calls that block refuse them."""

BRIEF_ENTRIES = 2_000
"""Files and values of a state that are searched or written in about two milliseconds."""

BRIEF_BYTES = 1_000_000
"""Contents of files that are written so."""


async def off_loop(work: Callable[[], T], *, brief: bool = True) -> T:
    """What `work` gives.

    Args:
        brief: Whether it takes a few milliseconds at most, and waits for nobody.
    """
    return work() if brief and ALLOWED.get() else await asyncio.to_thread(work)
