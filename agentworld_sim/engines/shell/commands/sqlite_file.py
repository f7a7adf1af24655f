"""SQLite databases that are files of the world, opened by the SQLite of the host's Python.

A database is read whole when it is opened, and written back when the shell ends. SQLite itself opens nothing:
its authorizer lets it attach no file, temporary data stay in memory, and the present moment and chance are the
world's.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from agentworld_sim.engines.shell._command import Endless
from agentworld_sim.engines.shell.bash_texts import unfaithful
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool

Value = None | int | float | str | bytes
Row = Sequence[Value]

MOST_BYTES = 256 << 20
"""Of one database, and of one value."""

MOST_ROWS = 250_000
"""Of one statement."""

STEPS = 10_000
"""Instructions of SQLite between two looks at the time that is left."""

_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError)
_FIXED = frozenset("data_store_directory hard_heap_limit max_page_count soft_heap_limit temp_store"
                   " temp_store_directory".split())  # fmt: skip
_ATTACH = re.compile(
    r"(?is)attach\s+(?:database\s+)?('[^']*'|\"[^\"]*\"|[^\s']+)\s+as\s+['\"]?(\w+)"
)


@dataclass(eq=False)
class StatementError(Exception):
    """A statement failed."""

    text: str
    code: int
    prepared: bool


class Database:
    """One connection; the file is read when it is first needed."""

    def __init__(self, t: Tool, path: str, *, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        self.files: dict[str, tuple[str, bytes]] = {}
        """Names of the databases, where they lie in the world, and what was there."""
        self.plain = sqlite3.connect(":memory:")
        self._t = t
        self._connection: sqlite3.Connection | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None)
            self._connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            self._connection.execute("PRAGMA temp_store = MEMORY")
            self._connection.set_progress_handler(self._is_late, STEPS)
            self._set_functions(self._connection)
            self._connection.set_authorizer(_authorize)
            self._load(self._connection, self.path, "main")
            self._connection.execute(f"PRAGMA query_only = {int(self.read_only)}")
        return self._connection

    def _is_late(self) -> int:
        return int(self._t.call.seconds_left() <= 0)

    def _load(self, connection: sqlite3.Connection, path: str, name: str) -> None:
        if path in ("", ":memory:"):
            return
        files, place = self._t.files, self._t.path(path)
        try:
            if not self._t.exists(path):
                files.write(place, b"")
            data = files.read(place)
        except OSError:
            said = f'Error: unable to open database "{path}": unable to open database file\n'
            raise UsageError(said) from None
        self.files[name] = (place, data)
        if data:
            connection.set_authorizer(None)
            try:
                # Memory knows no write-ahead log.
                wal = data[18:20] == b"\2\2"
                connection.deserialize(data[:18] + b"\1\1" + data[20:] if wal else data, name=name)
                connection.execute(f"PRAGMA {name}.max_page_count = {MOST_BYTES // 4096}")
            finally:
                connection.set_authorizer(_authorize)

    def save(self) -> None:
        """Writes back what changed.

        Raises:
            OSError: there is no room, or the file cannot be written.
        """
        for name, (place, before) in self.files.items():
            try:
                after = self.connection.serialize(name=name)
            except sqlite3.Error:
                continue  # It is no database.
            if after and after[20:] != before[20:]:
                self._t.files.write(place, after)

    def _set_functions(self, connection: sqlite3.Connection) -> None:
        call = self._t.call
        moment = datetime.fromtimestamp(call.clock.now_us() / 1_000_000, UTC)
        now = moment.isoformat(" ", "milliseconds")[:23]

        def of_time(name: str, first: int) -> Callable[..., Value]:
            def function(*given: Value) -> Value:
                words = [*given, "now"] if len(given) == first else given
                # The machine's zone is UTC.
                words = [now if w == "now" else w for w in words if w not in ("localtime", "utc")]
                marks = ",".join("?" * len(words))
                return self.plain.execute(f"SELECT {name}({marks})", words).fetchone()[0]

            return function

        for name in ("date", "time", "datetime", "julianday", "unixepoch", "strftime"):
            function = of_time(name, int(name == "strftime"))
            connection.create_function(name, -1, function, deterministic=True)
        for name, of in (("date", "date"), ("time", "time"), ("timestamp", "datetime")):
            connection.create_function(f"current_{name}", 0, of_time(of, 0))
        connection.create_function("random", 0, lambda: call.random.getrandbits(64) - (1 << 63))
        some: Callable[[int], bytes] = lambda n: call.random.randbytes(max(1, min(n, 1 << 20)))
        connection.create_function("randomblob", 1, some)

    def run(self, text: str) -> Iterator[tuple[list[str], list[Row]]]:
        """Runs statements one after the other: the columns and rows of those that have any.

        Raises:
            StatementError: one failed; those before it are done.
        """
        for sql in _statements(text):
            try:
                attached = _ATTACH.match(sql)
                if attached:
                    self.connection.execute(f"ATTACH ':memory:' AS {attached[2]}")
                    self._load(self.connection, attached[1].strip("'\""), attached[2])
                    continue
                found = self.connection.execute(sql)
                names = [column[0] for column in found.description or ()]
                rows: list[Row] = found.fetchmany(MOST_ROWS) if names else []
            except _ERRORS as error:
                if self._is_late():
                    raise Endless from None
                raise self._failure(sql, error) from None
            if len(rows) == MOST_ROWS:
                raise unfaithful(f"a statement has {MOST_ROWS:,} rows or more", sql)
            if "journal_mode" in sql and rows == [("memory",)]:
                wanted = re.search(r"=\s*'?(\w+)", sql)
                rows = [(wanted[1].lower() if wanted else "delete",)]
            if names:
                yield names, rows

    def _failure(self, sql: str, error: Exception) -> StatementError:
        code = getattr(error, "sqlite_errorcode", 1) & 0xFF
        said = f"{error} ({code})" if code > 1 else str(error)
        try:
            # What cannot be explained could not be prepared.
            self.connection.execute(f"EXPLAIN {sql}")
        except _ERRORS:
            return StatementError(said, code, prepared=False)
        return StatementError(said, code, prepared=True)


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Nothing opens a file of the host, and nothing moves what keeps it so."""
    opens = action == sqlite3.SQLITE_ATTACH and first not in (":memory:", "")
    sets = action == sqlite3.SQLITE_PRAGMA and second is not None and first in _FIXED
    return sqlite3.SQLITE_DENY if opens or sets else sqlite3.SQLITE_OK


def _statements(text: str) -> Iterator[str]:
    start = 0
    for found in re.finditer(r";|\Z", text):
        sql = text[start : found.end()].strip()
        if sqlite3.complete_statement(sql) or (found.end() == len(text) and sql):
            yield sql
            start = found.end()
