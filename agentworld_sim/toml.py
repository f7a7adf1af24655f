"""TOML read with the place of every key and value, for messages and for edits; and written back."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Item, Key, Table
from tomlkit.parser import Parser

from agentworld_sim.errors import UsageError

KeyPath = tuple[str | int, ...]
"""A dotted key; an item of a list, or of an array of tables, is named by its index."""


class TomlError(UsageError):
    """The text is no TOML. Line and column count from 1; both are 0 at the end of the text."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{place}{problem[:1].lower()}{problem[1:]}.")
        self.problem, self.line, self.column = problem, line, column


class TomlSpan(NamedTuple):
    """Where a key and its value stand, as offsets into the text."""

    start: int
    """Of the key, or of the item of a list; of a table the bracket of its header."""
    value: int
    """Where the value begins; of a table the end of its header, as `end` is."""
    end: int


@dataclass(slots=True)
class TomlDocument:
    """A parsed text. A part that is only implied, such as `a` in `[a.b]`, has no span."""

    text: str
    value: dict[str, Any]
    spans: dict[KeyPath, TomlSpan]

    def position(self, key: KeyPath) -> tuple[int, int]:
        """Line and column of `key`, or of the nearest thing around it; both count from 1."""
        while key and key not in self.spans:
            key = key[:-1]
        at = self.spans[key].start if key else 0
        return self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)


def read_toml(text: str) -> TomlDocument:
    """Parses `text`.

    Raises:
        TomlError: it is not TOML.
    """
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the place is only in the message.
        problem, _, place = str(error).partition(" (at ")
        numbers = [int(number) for number in re.findall(r"\d+", place)]
        end = "" if numbers else " at the end of the text"
        raise TomlError(problem + end, *numbers[:2]) from None
    except RecursionError:
        raise TomlError("it is nested too deeply") from None
    parser = _SpanParser(text)
    try:
        parser.parse()
    except TOMLKitError as error:
        raise TomlError(str(error)) from None
    return TomlDocument(text, value, parser.spans)


def toml_text(value: Mapping[str, Any]) -> str:
    """The TOML of `value`. Nothing stands for `None`: such keys are left out."""
    return tomlkit.dumps(_without_none(value))


def toml_literal(value: Any) -> str:
    """A value as it stands after `=`, on one line."""
    table = tomlkit.inline_table()
    table["x"] = value
    return table.as_string().removeprefix("{x = ").removesuffix("}")


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return {name: _without_none(item) for name, item in pairs if item is not None}
    return value


class _SpanParser(Parser):
    """tomlkit's parser, which knows the places while it reads and does not keep them."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.spans: dict[KeyPath, TomlSpan] = {}
        self._text = text
        self._around: KeyPath = ()
        self._index: int | None = None
        """Of the next item; `None` where a key comes first."""
        self._key: tuple[int, tuple[str, ...], int] = (0, (), 0)
        """Of the key that was read last: its start, its parts, its end."""
        self._last_tables: dict[KeyPath, int] = {}
        """Of each array of tables, the index of the last one."""

    def _parse_key(self) -> Key:
        start = self._idx
        key = super()._parse_key()
        self._key = (start, tuple(part.key for part in key), self._idx)
        return key

    def _parse_table(
        self, parent_name: Key | None = None, parent: Table | None = None
    ) -> tuple[Key, Table | AoT]:
        start = self._idx
        several, _ = self._peek_table()
        _, names, end = self._key
        path: KeyPath = ()
        for number, name in enumerate(names, 1):
            path += (name,)
            if several and number == len(names):
                self._last_tables[path] = self._last_tables.get(path, -1) + 1
            if path in self._last_tables:
                path += (self._last_tables[path],)
        end = self._text.index("]", end) + 1 + several
        self.spans.setdefault(path, TomlSpan(start, end, end))
        self._around = path
        return super()._parse_table(parent_name, parent)

    def _parse_key_value(self, parse_comment: bool = False) -> tuple[Key, Item]:
        self._index = None
        return super()._parse_key_value(parse_comment)

    def _parse_value(self) -> Item:
        around, index, start = self._around, self._index, self._idx
        begin, names = (self._key[0], self._key[1]) if index is None else (start, (index,))
        path = self._around = (*around, *names)
        self._index = 0
        try:
            value = super()._parse_value()
        finally:
            self._around, self._index = around, index
        self._index = None if index is None else index + 1
        self.spans.setdefault(path, TomlSpan(begin, start, self._idx))
        return value
