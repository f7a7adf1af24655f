"""What one SQL statement may take and touch."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from agentworld_sim.errors import UsageError

T = TypeVar("T")

MAX_STEPS = 200
"""Of the virtual machine of SQLite, in hundreds of thousands: some seconds of work."""

MAX_RESULT = 4_000_000
"""Characters of one answer."""

MAX_VALUE = 8_000_000
"""Bytes in one value."""

_STEP = 100_000

Refusal = Callable[..., str]
"""Takes what SQLite tells an authorizer: an action, two names, the database and the trigger or view. Gives why it is
not allowed, or an empty text."""


class StatementRefused(UsageError):
    """A statement asks for what it may not have. Its whole text is the reason."""


class StatementGuard:
    """Watches what runs on a connection meanwhile."""

    def __init__(self, connection: sqlite3.Connection, refusal: Refusal) -> None:
        self._connection = connection
        self._refusal = refusal
        self._steps = 0
        self._reason = ""

    @contextmanager
    def watch(self) -> Generator[None]:
        """Raises `StatementRefused` for what is not allowed and for too much; SQLite's other errors pass."""
        connection = self._connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        connection.set_authorizer(self._authorise)
        connection.set_progress_handler(self._count, _STEP)
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            if self._reason:
                raise StatementRefused(self._reason) from None
            if "database or disk is full" in str(error) or isinstance(error, MemoryError):
                raise StatementRefused("the database would be too large") from None
            raise
        finally:
            connection.set_authorizer(None)
            connection.set_progress_handler(None, 0)

    def fetch(self, cursor: sqlite3.Cursor, form: Callable[[Any], T]) -> list[T]:
        """All rows, each in the `form`."""
        rows: list[T] = []
        size = 0
        for row in cursor:
            rows.append(form(row))
            size += len(str(rows[-1]))
            if size > MAX_RESULT:
                raise StatementRefused(f"its answer has more than {MAX_RESULT:,} characters")
        return rows

    def _count(self) -> int:
        self._steps += 1
        if self._steps <= MAX_STEPS:
            return 0
        self._reason = "it takes too long"
        return 1

    def _authorise(self, action: int, *names: str | None) -> int:
        reason = self._refusal(action, *names)
        self._reason = self._reason or reason
        return sqlite3.SQLITE_DENY if reason else sqlite3.SQLITE_OK
