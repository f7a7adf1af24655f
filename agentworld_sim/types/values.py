"""The values of a world's state: many states of one world share what did not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

PLAIN = 256
"""A state with fewer values than this copies them; that is faster, and small."""


class Values(Mapping[str, Any]):
    """An immutable mapping: a dictionary that several states share, and what is different here.

    The differences stay few, about the square root of the whole: then they become the next dictionary
    that is shared.
    """

    __slots__ = ("_changed", "_length", "_shared")

    def __init__(self, shared: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
        """Nobody writes to `shared` any more; in `changed`, `None` stands for a key that is gone."""
        self._shared = shared
        self._changed = changed
        new = sum(value is not None and key not in shared for key, value in changed.items())
        gone = sum(value is None and key in shared for key, value in changed.items())
        self._length = len(shared) + new - gone

    def __getitem__(self, key: str) -> Any:
        if key not in self._changed:
            return self._shared[key]
        value = self._changed[key]
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        changed = self._changed
        yield from (key for key in self._shared if key not in changed)
        yield from (key for key, value in changed.items() if value is not None)

    def __len__(self) -> int:
        return self._length

    def __contains__(self, key: object) -> bool:
        if key in self._changed:
            return self._changed[cast("str", key)] is not None
        return key in self._shared

    def __repr__(self) -> str:
        return f"Values({self._length} values)"

    def after(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values with `changes` applied."""
        changed = {**self._changed, **changes}
        if len(changed) ** 2 > len(self._shared):
            return Values(_apply(self._shared, changed), {})
        return Values(self._shared, changed)

    def may_differ_from(self, other: Values) -> set[str] | None:
        """The keys in which the two may differ; `None` when that cannot be told at once."""
        if self._shared is not other._shared:
            return None
        return {*self._changed, *other._changed}


def apply_changes(held: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """`held` with `changes` applied; a key whose value is `None` is gone."""
    if not changes:
        return held
    if isinstance(held, Values):
        return held.after(changes)
    if len(held) + len(changes) < PLAIN:
        return _apply(held, changes)
    return Values(held, {}).after(changes)


def changed_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The keys that one of the two has and the other has not, or has with another value."""
    if before is after:
        return set()
    keys: set[str] | None = None
    if isinstance(before, Values) and isinstance(after, Values):
        keys = before.may_differ_from(after)
    if keys is None:
        keys = {*before, *after}
    return {key for key in keys if _differs(before.get(key), after.get(key))}


def _differs(one: Any, other: Any) -> bool:
    return one is not other and one != other


def _apply(held: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    values = {**held, **changes}
    return {key: value for key, value in values.items() if value is not None}
