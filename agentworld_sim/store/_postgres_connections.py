"""Connections to a PostgreSQL server, its errors as ours, and the making of the tables."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from agentworld_sim.errors import StoreError, UsageError
from agentworld_sim.store.urls import shown_url

Connection = psycopg.Connection[tuple[Any, ...]]
T = TypeVar("T")

LAYOUT_VERSION = 3
"""Tables with a higher one were made by a newer release."""

WAIT_SECONDS = 30
"""How long one process waits for another's write."""

TRIES = 5
"""How often a transaction is run that the server gave up for another's sake."""

_DEFAULTS = {
    "connect_timeout": "10",
    "application_name": "agentworld",
    # A server that is gone without a word is noticed.
    "tcp_user_timeout": str(WAIT_SECONDS * 1000),
}

# In one round trip. What our SQL relies on must not depend on the settings of a role.
_SETTINGS = f"""SELECT set_config('lock_timeout', '{WAIT_SECONDS}s', false),
    set_config('default_transaction_isolation', 'read committed', false)"""


class Connections:
    """As many connections as are needed at once, up to a limit; made late and kept.

    A pool with threads of its own would tell what is wrong only after its time-out.
    """

    def __init__(self, url: str, limit: int) -> None:
        self.place = shown_url(url)
        """The URL without its secrets."""
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            # Its words may repeat pieces of a password.
            raise UsageError(
                f"the store's URL {self.place} has parameters that the PostgreSQL client does not"
                " know. Its documentation lists them under 'Parameter Key Words'."
            ) from None
        self._settings: dict[str, Any] = {**_DEFAULTS, **given, "client_encoding": "UTF8"}
        self._free = threading.BoundedSemaphore(limit)
        self._idle: list[Connection] = []
        self._inherited: list[Connection] = []
        self._process = os.getpid()
        self._closed = False

    def run(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        """Does `work` on a connection in autocommit mode.

        Args:
            work: Done again when the server gave its transaction up, and after a lost connection
                unless it writes.
            writes: Whether it changes what is stored.

        Raises:
            StoreError: the server cannot do it.
        """
        for left in reversed(range(TRIES)):
            try:
                with self._connection() as connection:
                    return work(connection)
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if not left:
                    raise StoreError(explain(error, self.place)) from error
            except psycopg.Error as error:
                if not _is_lost(error):
                    raise StoreError(explain(error, self.place)) from error
                if writes or not left:
                    raise StoreError(
                        f"the connection to {self.place} was lost at work. Nothing is half-stored:"
                        " the world stands before the step or after it. Try again; the store"
                        " connects anew by itself."
                    ) from error
        raise AssertionError

    def close(self) -> None:
        """Closes all connections; one at work when its work is done."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        if self._closed:
            raise StoreError(f"the store in {self.place} was closed in this process.")
        self._leave_to_parent()
        with self._free:
            connection = self._live() or self._connect()
            try:
                yield connection
            finally:
                state = connection.info.transaction_status
                if state == TransactionStatus.IDLE and not self._closed:
                    self._idle.append(connection)
                else:
                    # Interrupted in the middle: what it waits for would be the next one's answer.
                    connection.close()

    def _live(self) -> Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            with suppress(psycopg.Error):
                # Looks at what has come in, without asking the server: a farewell, then the end.
                connection.pgconn.consume_input()
                connection.pgconn.consume_input()
                return connection
            connection.close()

    def _connect(self) -> Connection:
        try:
            connection = psycopg.connect(**self._settings, autocommit=True)
        except psycopg.Error as error:
            raise StoreError(explain(error, self.place)) from error
        connection.execute(_SETTINGS.encode())
        return connection

    def _leave_to_parent(self) -> None:
        # A fork of the process has the sockets of its parent; closing them would end the parent's.
        if self._process != os.getpid():
            self._process = os.getpid()
            self._inherited += self._idle
            self._idle = []


def explain(error: psycopg.Error, place: str) -> str:
    """What an error of the server or the client library means to a user."""
    said = str(error).strip().partition("\n")[0]
    for meaning in _MEANINGS:
        if isinstance(error, meaning.kinds) or any(word in said for word in meaning.words):
            return f"{meaning.message.format(place=place)} ({said})"
    if error.sqlstate is None:
        return (
            f"cannot connect to {place}: {said}. Check that the server runs, and that"
            " AGENTWORLD_STORE names its host and port."
        )
    return f"the store in {place} failed: {said} (SQLSTATE {error.sqlstate})."


def _is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone. Errors of connecting are never seen here."""
    gone = errors.AdminShutdown | errors.CrashShutdown | errors.CannotConnectNow
    return isinstance(error, gone) or (
        isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    )


def prepare(connection: Connection, place: str, statements: Mapping[str, str]) -> None:
    """Makes the tables where there are none, on a connection in autocommit mode; ten processes may at once.

    Raises:
        StoreError: the tables were made by a newer release, or before the first.
    """
    version = _version(connection)
    if version is None:
        with connection.transaction():
            connection.execute(statements["close_gate"].encode())
            # Another process may have done it meanwhile.
            version = _version(connection)
            if version is None:
                version = LAYOUT_VERSION
                connection.execute("CREATE TABLE agentworld_layout (version INTEGER NOT NULL)")
                connection.execute("INSERT INTO agentworld_layout VALUES (%s)", (version,))
                for statement in statements["tables"].split(";\n"):
                    connection.execute(statement.encode())
                connection.execute(statements["commit_function"].encode())
    if version < LAYOUT_VERSION:
        raise StoreError(
            f"the store in {place} has version {version}, of before the first release, and this release"
            f" reads {LAYOUT_VERSION}. Name another schema with ?options=-csearch_path%3DSCHEMA."
        )
    if version > LAYOUT_VERSION:
        raise StoreError(
            f"the store in {place} has version {version}; this release reads up to"
            f" {LAYOUT_VERSION}. Upgrade agentworld-sim, or point AGENTWORLD_STORE elsewhere."
        )


def _version(connection: Connection) -> int | None:
    # `to_regclass` would answer from what this connection knew before it waited.
    there = """SELECT 1 FROM pg_class WHERE relname = 'agentworld_layout'
        AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"""
    if connection.execute(there).fetchone() is None:
        return None
    row = connection.execute("SELECT version FROM agentworld_layout").fetchone()
    return row[0] if row else None


class _Meaning(NamedTuple):
    kinds: tuple[type[psycopg.Error], ...]
    words: tuple[str, ...]
    message: str


# The server may speak any language: where words stand beside kinds, the kinds are not told while a
# connection is being made, and an answer in another language gets the general message.
_MEANINGS = (
    _Meaning(
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        ("password", "authentication", "role "),
        "{place} does not let this user in. Check the user's name; give the password in PGPASSWORD,"
        " in ~/.pgpass, or in AGENTWORLD_STORE.",
    ),
    _Meaning(
        (errors.InvalidCatalogName,),
        ('database "',),
        "there is no such database: {place}. Make it with `createdb`, or name another one in"
        " AGENTWORLD_STORE.",
    ),
    _Meaning(
        (errors.TooManyConnections,),
        ("too many", "remaining connection slots"),
        "{place} has no connection left for us. Close some, or raise its max_connections.",
    ),
    _Meaning(
        (errors.DiskFull,),
        (),
        "the disk of {place} is full; the turn was not stored. Free some space.",
    ),
    _Meaning(
        (errors.ReadOnlySqlTransaction,),
        (),
        "{place} cannot be written: it is a standby, or is set to read only. Name the primary.",
    ),
    _Meaning(
        (errors.InsufficientPrivilege,),
        (),
        "the user of {place} may not make or use our tables. Grant it CREATE and USAGE on the"
        " schema, or name another one with ?options=-csearch_path%3DSCHEMA.",
    ),
    _Meaning(
        (errors.InvalidSchemaName,),
        (),
        "the schema that {place} is to use does not exist. Make it with CREATE SCHEMA.",
    ),
    _Meaning(
        (errors.LockNotAvailable,),
        (),
        f"the store in {{place}} stayed locked by another process for {WAIT_SECONDS} s; nothing was"
        " stored. Try again.",
    ),
    _Meaning(
        (errors.UndefinedTable, errors.UndefinedFunction),
        (),
        "the tables of the store in {place} are gone or damaged. Restore them from a backup.",
    ),
)
