"""Base data: large data that never changes, as SQLite files in the user's cache, shared by all worlds.

A world's state names its base data by a hash of the content; the bytes stand outside the state, are built once on a
machine, and can always be built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from agentworld_sim.errors import StoreError
from agentworld_sim.store.home import cache_home

Build = Callable[[sqlite3.Connection], None]
"""Writes the whole content into an empty database."""

APPLICATION_ID = 0x61776264
"""What the header of every file says: `awbd`."""

_ABOUT = "about_base_data"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_ROOM = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
)
_DAY = 86_400

_opened: weakref.WeakValueDictionary[tuple[int, Path], BaseData] = weakref.WeakValueDictionary()
_opening = threading.Lock()


class BaseData:
    """One immutable database, open while somebody holds it. Any thread may read."""

    def __init__(self, path: Path, content: str) -> None:
        self.path = path
        self.content = content
        """Hash of what the database holds, the same for every release of SQLite: what a world's state keeps."""
        self._free: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()
        weakref.finalize(self, _close, self._free)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A read-only connection that nobody else uses meanwhile.

        Raises:
            StoreError: the file turns out to be damaged; it is removed, and built anew when it is next opened.
        """
        if self._process != os.getpid():
            raise StoreError(f"{self.path} was opened before the process forked. Open it again.")
        try:
            connection = self._free.pop()
        except IndexError:
            connection = _connect(self.path)
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            if _code(error) not in _DAMAGED:
                raise
            with contextlib.suppress(OSError):
                self.path.unlink()
            _opened.pop((self._process, self.path), None)
            raise StoreError(
                f"The base data in {self.path} is damaged: {error}. It was removed, and is built"
                " again when its world is opened next."
            ) from error
        finally:
            self._free.append(connection)


def open_base_data(recipe: str, build: Build, *, content: str = "") -> BaseData:
    """Finds base data in the cache, or builds it. Processes that do so at once all succeed.

    Args:
        recipe: All that the content follows from, with the version of what builds it.
        build: Called when the cache has no whole file for the recipe. It may take long: call this off the event loop.
        content: The hash that a world's state names; what a file holds otherwise is built again.

    Raises:
        StoreError: the cache cannot be written, or the recipe no longer gives that content.
    """
    path = cache_home() / "base" / f"{hashlib.sha256(recipe.encode()).hexdigest()[:32]}.sqlite"
    known = os.getpid(), path
    with _opening:
        held = _opened.get(known)
    if held is not None and content in ("", held.content):
        return held
    found = _content_in(path, recipe)
    if found is None or (content and found != content):
        try:
            _write(path, recipe, build)
        except (OSError, sqlite3.OperationalError) as error:
            if isinstance(error, sqlite3.Error) and _code(error) not in _NO_ROOM:
                raise
            raise StoreError(
                f"Base data cannot be kept in {path.parent}: {error}. Name a folder that can be"
                " written: AGENTWORLD_HOME."
            ) from error
        found = _content_in(path, recipe)
    if found is None or (content and found != content):
        raise StoreError(
            f"The world was made with base data {content[:12]}, and this release builds"
            f" {(found or 'none')[:12]} for it. Open it with the release that made it."
        )
    with _opening:
        held = _opened.get(known)
        if held is None or held.content != found:
            held = _opened[known] = BaseData(path, found)
        return held


def content_hash(connection: sqlite3.Connection) -> str:
    """SHA-256 over the texts and rows of a database, as hexadecimal digits: not over SQLite's bytes, nor over what it
    derives from rows, such as a search index."""
    digest = hashlib.sha256()
    for name, sql in connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> ?"
        " AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')"
        " ORDER BY name",
        [_ABOUT],
    ).fetchall():
        digest.update(repr((name, sql)).encode())
    for name, without_rowid in connection.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
        " AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name <> ? ORDER BY name",
        [_ABOUT],
    ).fetchall():
        table = '"' + name.replace('"', '""') + '"'
        if without_rowid:
            # In the order of its key: an index would have another.
            rows = connection.execute(f"SELECT * FROM {table} NOT INDEXED")
        else:
            rows = connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid")
        digest.update(repr(name).encode())
        for row in rows:
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _write(path: Path, recipe: str, build: Build) -> None:
    """Writes the whole file beside its place, then moves it there: nobody sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{path.stem}.*.building"):
        # A build that was killed; one that goes on changes its file now and then.
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _DAY:
                left.unlink()
    handle, name = tempfile.mkstemp(".building", f"{path.stem}.", path.parent)
    try:
        connection = sqlite3.connect(name)
        try:
            # Nobody reads it before it is whole, and after a crash it is built again.
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA synchronous = OFF")
            build(connection)
            connection.commit()
            content = content_hash(connection)
            connection.execute(f"CREATE TABLE {_ABOUT} (recipe TEXT, content TEXT)")
            connection.execute(f"INSERT INTO {_ABOUT} VALUES (?, ?)", [recipe, content])
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.commit()
        finally:
            connection.close()
        os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        os.close(handle)


def _content_in(path: Path, recipe: str) -> str | None:
    """The hash that a file says of its content; `None` when there is no whole file of this recipe."""
    try:
        with contextlib.closing(_connect(path)) as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
            (kind,) = connection.execute("PRAGMA application_id").fetchone()
            if kind != APPLICATION_ID or pages * size != path.stat().st_size:
                return None
            row = connection.execute(f"SELECT content FROM {_ABOUT} WHERE recipe = ?", [recipe])
            return next((content for (content,) in row), None)
    except (OSError, sqlite3.DatabaseError):
        return None


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1",
        uri=True,
        check_same_thread=False,
        isolation_level=None,
    )


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error of the Python module's own."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _close(connections: deque[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()
