"""The records of one world in SQLite, in memory: an index of what the world's state holds."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.table.layout import StoredRecord, get, scope_of
from agentworld_sim.engines.table.operation import Table
from agentworld_sim.engines.table.query import SAME, Filter, matches, texts

WORTH_INDEXING = 2000
"""Tables with fewer records are read from end to end as fast."""

EXACT = 2**53
"""Whole numbers below this are the same in every part of SQLite."""

_SIMPLE_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d{1,15})\Z", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which records, in which order."""

    scope: str | None = None
    """All of the scope at once, when it is given in full."""
    filters: Sequence[Filter] = ()
    words: Sequence[str] = ()
    """Each must be in the record's texts, in whatever case."""
    sort: str | None = None
    descending: bool = False


class Database:
    """Any number of tables."""

    def __init__(self) -> None:
        # The world takes care that one call is answered at a time, from whatever thread.
        self._db = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=32
        )
        self._names: dict[str, str] = {}
        self._tables: dict[str, Table] = {}
        self._indexes: set[tuple[str, str]] = set()
        self._filters: list[Filter] = []
        self._sorted = ""
        self._db.create_function("fits", 2, self._fits, deterministic=True)
        self._db.create_function("sorting", 1, self._sorting, deterministic=True)

    def close(self) -> None:
        self._db.close()

    def has(self, table: str) -> bool:
        """Whether the table was brought up."""
        return table in self._names

    def bring_up(self, table: Table, records: Iterable[StoredRecord]) -> None:
        """Makes a table with its records."""
        name = f"t{len(self._names)}"
        self._names[table.name] = name
        self._tables[table.name] = table
        self._db.execute(
            f"CREATE TABLE {name} (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
            " scope TEXT NOT NULL, counted INTEGER, record TEXT NOT NULL, texts BLOB)"
        )
        self._db.execute(f"CREATE INDEX {name}_scope ON {name} (scope, counted)")
        self._db.execute(f"CREATE INDEX {name}_order ON {name} (scope, number)")
        self._db.execute("BEGIN")
        self._db.executemany(
            f"INSERT OR REPLACE INTO {name} VALUES (?,?,?,?,?,NULL)",
            (_row(stored, table) for stored in records),
        )
        self._db.execute("COMMIT")

    def put(self, table: str, stored: StoredRecord) -> None:
        """Writes one record, in the place of the one with its key or number."""
        self._db.execute(
            f"INSERT OR REPLACE INTO {self._names[table]} VALUES (?,?,?,?,?,NULL)",
            _row(stored, self._tables[table]),
        )

    def remove(self, table: str, key: str) -> None:
        self._db.execute(f"DELETE FROM {self._names[table]} WHERE key=?", (key,))

    def mark(self) -> None:
        """Begins what `roll_back` takes back and `keep` keeps."""
        self._db.execute("SAVEPOINT call")

    def roll_back(self) -> None:
        self._db.execute("ROLLBACK TO call")
        self._db.execute("RELEASE call")

    def keep(self) -> None:
        self._db.execute("RELEASE call")

    def next_number(self, table: str) -> int:
        """The number of the next record."""
        sql = f"SELECT max(number) FROM {self._names[table]}"
        return (self._db.execute(sql).fetchone()[0] or 0) + 1

    def highest(self, table: str, scope: str | None) -> tuple[int, Any]:
        """The highest number in a key of a scope, and that key; 0 and `None` for none. Without a scope,
        of the whole table."""
        within = "" if scope is None else "scope=? AND"
        row = self._db.execute(
            f"SELECT counted, record FROM {self._names[table]}"
            f" WHERE {within} counted IS NOT NULL ORDER BY counted DESC LIMIT 1",
            () if scope is None else (scope,),
        ).fetchone()
        if row is None:
            return 0, None
        return row[0], get(json.loads(row[1]), self._tables[table].key[-1])

    def latest(self, table: str) -> Mapping[str, Any] | None:
        """The record that was made last."""
        sql = f"SELECT record FROM {self._names[table]} ORDER BY number DESC LIMIT 1"
        row = self._db.execute(sql).fetchone()
        return None if row is None else json.loads(row[0])

    def at(self, table: str, key: str) -> StoredRecord | None:
        """The record with this key."""
        row = self._db.execute(
            f"SELECT key, number, record FROM {self._names[table]} WHERE key=?", (key,)
        ).fetchone()
        return None if row is None else _stored_record(row)

    def count(self, table: str, query: Query) -> int:
        """How many records `query` finds."""
        where, values = self._where(table, query)
        sql = f"SELECT count(*) FROM {self._names[table]} WHERE {where}"
        return self._db.execute(sql, values).fetchone()[0]

    def find(
        self, table: str, query: Query, *, limit: int | None = None, offset: int = 0
    ) -> Iterator[StoredRecord]:
        """The records that `query` finds, in its order and then in that of insertion."""
        where, values = self._where(table, query)
        order = "number DESC" if query.descending else "number"
        if query.sort is not None:
            direction = " DESC" if query.descending else ""
            order = f"{self._order(query.sort)}{direction}, number"
        rows = self._db.execute(
            f"SELECT key, number, record FROM {self._names[table]} WHERE {where}"
            f" ORDER BY {order} LIMIT ? OFFSET ?",
            (*values, -1 if limit is None else min(limit, EXACT), min(offset, EXACT)),
        )
        return map(_stored_record, rows.fetchall())

    def _where(self, table: str, query: Query) -> tuple[str, list[Any]]:
        parts: list[str] = []
        values: list[Any] = []
        if query.scope is not None:
            parts.append("scope = ?")
            values.append(query.scope)
        self._filters = list(query.filters)
        for place, condition in enumerate(self._filters):
            known = _as_sql(condition)
            if known is None:
                parts.append(f"fits(record, {place})")
                continue
            extracted, kinds, value = known
            kind = f"json_type(record, '$.{condition.path}')"
            exact = f"({kind} {kinds} AND {extracted} = ?)"
            if self._plain(table, condition.path, kind, extracted):
                parts.append(exact)
                values.append(value)
                continue
            inside = f"({kind} IN ('array', 'object') AND fits(record, {place}))"
            parts.append(exact if condition.compare == SAME else f"({exact} OR {inside})")
            values.append(value)
        if query.words:
            self._write_texts(table)
        for word in query.words:
            parts.append("instr(texts, ?)")
            values.append(_fold_text(word))
        return " AND ".join(parts) or "1", values

    def _plain(self, table: str, path: str, kind: str, extracted: str) -> bool:
        """Whether no record has a list or an object in a field. Only asked where an index answers: in
        a large table, which gets one of each field that is compared."""
        name = self._names[table]
        scope = "scope, " if self._tables[table].scope else ""
        if (name, path) not in self._indexes:
            if self.next_number(table) < WORTH_INDEXING:
                return False
            self._indexes.add((name, path))
            index = f"{name}_v{len(self._indexes)}"
            self._db.execute(f"CREATE INDEX {index} ON {name} ({scope}{kind}, {extracted}, number)")
            self._db.execute(f"CREATE INDEX {index}_kinds ON {name} ({kind})")
        inside = f"SELECT 1 FROM {name} WHERE {kind} IN ('array', 'object') LIMIT 1"
        return self._db.execute(inside).fetchone() is None

    def _write_texts(self, table: str) -> None:
        """Fills in what is searched, which is only needed where something is."""
        name = self._names[table]
        rows = self._db.execute(f"SELECT number, record FROM {name} WHERE texts IS NULL").fetchall()
        self._db.executemany(
            f"UPDATE {name} SET texts=? WHERE number=?",
            ((_fold_text("\n".join(texts(json.loads(record)))), number) for number, record in rows),
        )

    def _order(self, path: str) -> str:
        if _SIMPLE_PATH.match(path):
            return f"json_extract(record, '$.{path}')"
        self._sorted = path
        return "sorting(record)"

    def _fits(self, record: str, place: int) -> bool:
        return matches(json.loads(record), self._filters[place])

    def _sorting(self, record: str) -> Any:
        value = get(json.loads(record), self._sorted)
        if isinstance(value, str):
            return value.encode(errors="replace").decode()
        if isinstance(value, int) and abs(value) >= EXACT:
            return float(value) if abs(value) < 10**300 else None
        return value if isinstance(value, int | float) else None


def _as_sql(condition: Filter) -> tuple[str, str, Any] | None:
    """A plain equality in SQL: what is compared, of which JSON types, with what."""
    wanted = condition.wanted
    if condition.compare not in ("equal", SAME) or not _SIMPLE_PATH.match(condition.path):
        return None
    if "." in condition.path:
        # A field may have this very name, with the dot.
        return None
    extracted = f"json_extract(record, '$.{condition.path}')"
    if isinstance(wanted, bool):
        return extracted, f"= '{str(wanted).lower()}'", int(wanted)
    if isinstance(wanted, int) and abs(wanted) < EXACT:
        return extracted, "IN ('integer', 'real')", wanted
    if isinstance(wanted, str) and wanted.isprintable() and _sendable(wanted):
        return extracted, "= 'text'", wanted
    return None


def _sendable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fold_text(text: str) -> bytes:
    return text.casefold().encode(errors="surrogatepass")


def _row(stored: StoredRecord, table: Table) -> tuple[Any, ...]:
    record = stored.record
    # Escaped, so that what is not UTF-8 can be stored as well.
    text = json.dumps(record)
    named = get(record, table.key[-1]) if table.key else None
    return stored.number, stored.key, scope_of(record, table), key_number(named), text


def key_number(key: Any) -> int | None:
    """The number in a generated key: of `12` and of `PREFIX-12`."""
    if isinstance(key, int) and not isinstance(key, bool):
        return key if abs(key) < EXACT else None
    if isinstance(key, str) and (parts := split_number(key)) is not None:
        return int(parts[1])
    return None


def split_number(key: str) -> tuple[str, str] | None:
    """`ENG-12` → `ENG-` and `12`; `None` for a text that does not end in a number of its own."""
    parts = _ENDS_IN_NUMBER.match(key)
    if parts is None or not parts[2].isascii() or re.search(r"[0-9]", parts[1]):
        return None
    return parts[1], parts[2]


def _stored_record(row: tuple[str, int, str]) -> StoredRecord:
    return StoredRecord(row[0], row[1], cast("dict[str, Any]", json.loads(row[2])))
