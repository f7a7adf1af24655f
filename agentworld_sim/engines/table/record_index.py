"""The records of one world by table, key and value: an index of what the world's state holds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_sim.engines.table.query import SAME, Filter, matches, texts
from agentworld_sim.relational.layout import StoredRecord, Table, get, key_number, scope_of

WORTH_INDEXING = 200
"""Tables with fewer records are read from end to end as fast."""


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


class _Bucket(list[StoredRecord]):
    """Records in the order of their numbers, which is that of insertion."""

    def add(self, stored: StoredRecord) -> None:
        self.insert(bisect_right(self, stored.number, key=_number), stored)

    def discard(self, stored: StoredRecord) -> None:
        place = bisect_left(self, stored.number, key=_number)
        while self[place] is not stored:
            place += 1
        del self[place]


def _number(stored: StoredRecord) -> int:
    return stored.number


class _Records:
    """The records of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.by_key: dict[str, StoredRecord] = {}
        self.ordered = _Bucket()
        self.scopes: dict[str, _Bucket] = {}
        self.values: dict[str, dict[Any, _Bucket] | None] = {}
        """Of fields that were compared in a large table: value to records; `None` where some record has a
        list or an object there."""
        self.folded: dict[str, str] = {}
        """Key to all texts of the record, where something was searched for."""
        self.highest: dict[str | None, tuple[int, Any]] = {}
        """Scope to the highest number in a key, and that key; `None` for the whole table."""

    def put(self, stored: StoredRecord) -> StoredRecord | None:
        """Writes a record; the one that had its key."""
        before = self.remove(stored.key)
        self.by_key[stored.key] = stored
        self.ordered.add(stored)
        scope = scope_of(stored.record, self.table)
        self.scopes.setdefault(scope, _Bucket()).add(stored)
        for path in self.values:
            self._index(path, stored)
        counted, key = self._number_and_key(stored)
        for one in (scope, None):
            if one in self.highest and counted > self.highest[one][0]:
                self.highest[one] = counted, key
        return before

    def remove(self, key: str) -> StoredRecord | None:
        gone = self.by_key.pop(key, None)
        if gone is not None:
            self.ordered.discard(gone)
            self.scopes[scope_of(gone.record, self.table)].discard(gone)
            for path, buckets in self.values.items():
                if buckets is not None:
                    buckets[_hashable(get(gone.record, path))].discard(gone)
            self.folded.pop(key, None)
            self.highest.clear()
        return gone

    def highest_of(self, scope: str | None) -> tuple[int, Any]:
        if scope not in self.highest:
            among = self.ordered if scope is None else self.scopes.get(scope, ())
            self.highest[scope] = max(
                map(self._number_and_key, among), key=lambda one: one[0], default=(0, None)
            )
        return self.highest[scope]

    def select(self, query: Query) -> Sequence[StoredRecord]:
        found: Sequence[StoredRecord] = self.ordered
        if query.scope is not None:
            found = self.scopes.get(query.scope, ())
        filters = list(query.filters)
        for one in query.filters if len(self.ordered) >= WORTH_INDEXING else ():
            bucket = self._bucket(one)
            if bucket is not None and len(bucket) < len(found):
                among = None if found is self.ordered else {stored.key for stored in found}
                found = [stored for stored in bucket if among is None or stored.key in among]
                filters.remove(one)
        words = [word.casefold() for word in query.words]
        if filters or words:
            found = [one for one in found if self._fits(one, filters, words)]
        if query.sort is not None:
            path = query.sort
            key = _sort_key
            return sorted(
                found, key=lambda one: key(get(one.record, path)), reverse=query.descending
            )
        return found[::-1] if query.descending else found

    def _fits(self, stored: StoredRecord, filters: Sequence[Filter], words: Sequence[str]) -> bool:
        if not all(matches(stored.record, one) for one in filters):
            return False
        if words and stored.key not in self.folded:
            self.folded[stored.key] = "\n".join(texts(dict(stored.record))).casefold()
        return all(word in self.folded[stored.key] for word in words)

    def _bucket(self, condition: Filter) -> Sequence[StoredRecord] | None:
        """The records that fit a plain equality; `None` where only looking at each can tell."""
        path, wanted = condition.path, condition.wanted
        if condition.compare not in ("equal", SAME) or not _is_plain(wanted):
            return None
        if path not in self.values:
            self.values[path] = {}
            for stored in self.ordered:
                self._index(path, stored)
        buckets = self.values[path]
        return None if buckets is None else buckets.get(_hashable(wanted), ())

    def _index(self, path: str, stored: StoredRecord) -> None:
        value, buckets = get(stored.record, path), self.values[path]
        if not _is_plain(value):
            self.values[path] = None
        elif buckets is not None:
            buckets.setdefault(_hashable(value), _Bucket()).add(stored)

    def _number_and_key(self, stored: StoredRecord) -> tuple[int, Any]:
        key = get(stored.record, self.table.key[-1]) if self.table.key else None
        return key_number(key) or 0, key


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _hashable(value: Any) -> tuple[bool, Any]:
    """`1` is `1.0` and not `true`."""
    return isinstance(value, bool), value


def _sort_key(value: Any) -> tuple[int, Any]:
    """Nothing goes before numbers, and these before texts."""
    if isinstance(value, str):
        return 2, value
    return (1, value) if isinstance(value, int | float) else (0, 0)


class RecordIndex:
    """Any number of tables."""

    def __init__(self) -> None:
        self._tables: dict[str, _Records] = {}
        self._undo: list[tuple[_Records, str, StoredRecord | None]] = []

    def has(self, table: str) -> bool:
        """Whether the table was brought up."""
        return table in self._tables

    def bring_up(self, table: Table, records: Iterable[StoredRecord]) -> None:
        """Makes a table with its records."""
        self._tables[table.name] = made = _Records(table)
        for stored in records:
            made.put(stored)

    def put(self, table: str, stored: StoredRecord) -> None:
        """Writes one record, in the place of the one with its key."""
        held = self._tables[table]
        self._undo.append((held, stored.key, held.put(stored)))

    def remove(self, table: str, key: str) -> None:
        held = self._tables[table]
        self._undo.append((held, key, held.remove(key)))

    def mark(self) -> None:
        """Begins what `roll_back` takes back."""
        self._undo.clear()

    def roll_back(self) -> None:
        for held, key, before in reversed(self._undo):
            if before is None:
                held.remove(key)
            else:
                held.put(before)
        self._undo.clear()

    def next_number(self, table: str) -> int:
        ordered = self._tables[table].ordered
        return ordered[-1].number + 1 if ordered else 1

    def highest(self, table: str, scope: str | None) -> tuple[int, Any]:
        """The highest number in a key of a scope, and that key; 0 and `None` for none. Without a scope,
        of the whole table."""
        return self._tables[table].highest_of(scope)

    def latest(self, table: str) -> Mapping[str, Any] | None:
        """The record that was made last."""
        ordered = self._tables[table].ordered
        return ordered[-1].record if ordered else None

    def at(self, table: str, key: str) -> StoredRecord | None:
        return self._tables[table].by_key.get(key)

    def find(self, table: str, query: Query) -> Sequence[StoredRecord]:
        """The records that `query` finds, in its order and then in that of insertion."""
        return self._tables[table].select(query)
