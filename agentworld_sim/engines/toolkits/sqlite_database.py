"""A database as values of the world: its schema as text, its rows as JSON.

The bytes of a database differ from one release of SQLite to the next; texts and rows do not. Rows are
kept by the table and the sixty-four row ids they lie among, so that a turn records what it changed.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from agentworld_sim.engines.toolkits.toolkit_engine import ServerValues

CHUNK = 64
"""Row ids in one value."""

MAX_BYTES = 32 * 1024 * 1024
"""Of a database."""

_SEQUENCE = "sqlite_sequence"

Schema = Sequence[Sequence[str]]
"""Type, name, table and SQL text of every object, in the order of their making."""


def connect(kept: ServerValues) -> sqlite3.Connection:
    """A database that holds what is kept, as if it had just been opened."""
    built = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        _build(built, kept)
        # Counters of changes and the last row id belong to a connection: this one has none yet.
        fresh = sqlite3.connect(":memory:", check_same_thread=False)
        built.backup(fresh)
    finally:
        built.close()
    return fresh


def dump(connection: sqlite3.Connection, kept: ServerValues) -> None:
    """Keeps what `connection` holds."""
    schema = [
        list(row)
        for row in connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
            " ORDER BY rowid"
        )
    ]
    kept.put("schema", schema or None)
    numbers = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0] or None
        for name in ("user_version", "application_id")
    }
    kept.put("numbers", {key: value for key, value in numbers.items() if value} or None)
    held: dict[str, list[list[Any]]] = {}
    for kind, name, _, _ in schema:
        if kind == "table":
            for key, row in _rows(connection, name):
                held.setdefault(key, []).append(row)
    before = kept.items("rows/")
    for key in before.keys() - held.keys():
        kept.put(f"rows/{key}", None)
    for key, rows in held.items():
        kept.put(f"rows/{key}", rows)


def rows_in(kept: ServerValues) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Every table's rows by their numbers, each as a mapping of its columns."""
    connection = connect(kept)
    try:
        tables: dict[str, dict[str, Mapping[str, Any]]] = {}
        for kind, name, *_ in kept.get("schema", []):
            if kind == "table" and name != _SEQUENCE:
                columns = _columns(connection, name)
                tables[name] = {
                    str(row[0]): dict(zip(columns, row[1:], strict=True))
                    for _, row in _rows(connection, name)
                }
        return tables
    finally:
        connection.close()


def _build(connection: sqlite3.Connection, kept: ServerValues) -> None:
    schema: Schema = kept.get("schema", [])
    later: list[str] = []
    chunks = kept.items("rows/")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("BEGIN")
    for kind, name, _, sql in schema:
        if name == _SEQUENCE:
            _make_sequence(connection)
        elif kind == "trigger":
            later.append(sql)
        else:
            connection.execute(sql)
        if kind == "table" and name != _SEQUENCE:
            _fill(connection, name, _chunks_of(chunks, name))
    if any(name == _SEQUENCE for _, name, _, _ in schema):
        connection.execute(f"DELETE FROM {_SEQUENCE}")
        _fill(connection, _SEQUENCE, _chunks_of(chunks, _SEQUENCE))
    for sql in later:
        # They would have answered to the rows above.
        connection.execute(sql)
    connection.execute("COMMIT")
    for name, number in kept.get("numbers", {}).items():
        connection.execute(f"PRAGMA {name} = {int(number)}")


def _make_sequence(connection: sqlite3.Connection) -> None:
    """SQLite makes this table with the first table that counts, which may be gone by now."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [_SEQUENCE])
    if known.fetchone() is None:
        connection.execute("CREATE TABLE counting_ (id INTEGER PRIMARY KEY AUTOINCREMENT)")
        connection.execute("DROP TABLE counting_")


def _chunks_of(chunks: Mapping[str, list[list[Any]]], table: str) -> list[list[Any]]:
    start = f"{table}/"
    return [
        row
        for key, rows in chunks.items()
        if key.startswith(start) and "/" not in key[len(start) :]
        for row in rows
    ]


def _fill(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    if not rows:
        return
    columns = _columns(connection, table)
    rowid = _rowid(connection, table, columns)
    names = [*([rowid] if rowid else []), *columns]
    listed = ", ".join(map(_quote_identifier, names))
    for row in rows:
        given = row[0 if rowid else 1 :]
        marks = ", ".join(map(_mark, given))
        connection.execute(
            f"INSERT INTO {_quote_identifier(table)} ({listed}) VALUES ({marks})",
            list(map(_value, given)),
        )


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[str, list[Any]]]:
    """The key under which each row is kept, and the row with its number before it."""
    columns = _columns(connection, table)
    rowid = _rowid(connection, table, columns)
    listed = ", ".join(map(_quote_identifier, [*([rowid] if rowid else []), *columns]))
    connection.text_factory = _text
    try:
        cursor = connection.execute(f"SELECT {listed} FROM {_quote_identifier(table)}")
        for number, row in enumerate(cursor):
            at: int = row[0] if rowid else number
            values = row[1:] if rowid else row
            yield f"{table}/{at // CHUNK}", [at, *map(_json, values)]
    finally:
        connection.text_factory = str


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns that are stored; generated ones are computed again."""
    found = connection.execute(f"PRAGMA table_xinfo({_quote_identifier(table)})").fetchall()
    return [column[1] for column in found if column[6] == 0]


def _rowid(connection: sqlite3.Connection, table: str, columns: Sequence[str]) -> str | None:
    """What the row id of `table` can be called; `None` for a table that has none."""
    taken = {column.lower() for column in columns}
    for name in ("rowid", "_rowid_", "oid"):
        if name in taken:
            continue
        try:
            connection.execute(f"SELECT {name} FROM {_quote_identifier(table)} LIMIT 0")
        except sqlite3.OperationalError:
            return None
        return name
    return None


def _text(data: bytes) -> str | _Invalid:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _Invalid(data)


class _Invalid(bytes):
    """A text that is not UTF-8."""


def _json(value: Any) -> Any:
    """A value of a row, as JSON."""
    if isinstance(value, bytes):
        return {"text" if isinstance(value, _Invalid) else "blob": value.hex()}
    if isinstance(value, float) and math.isinf(value):
        return {"real": str(value)}
    return value


def _value(kept: Any) -> Any:
    """What `_json` was given."""
    if not isinstance(kept, dict):
        return kept
    kind, text = next(iter(cast("dict[str, str]", kept).items()))
    return float(text) if kind == "real" else bytes.fromhex(text)


def _mark(kept: Any) -> str:
    return "CAST(? AS TEXT)" if isinstance(kept, dict) and "text" in kept else "?"


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
