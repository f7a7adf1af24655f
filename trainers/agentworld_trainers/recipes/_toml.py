"""TOML with the place of every key, which `tomllib` does not give; and back, for what a run records."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from agentworld_trainers.recipes._problems import RecipeError

Key = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)
_SCALAR = re.compile(r"[^,\]}\n#]+")


class Place(NamedTuple):
    """Where something stands. Line and column count from 1; both are 0 for an override."""

    line: int
    column: int
    override: int = 0
    """Which one, from 1; 0 for what stands in the file."""


@dataclass(slots=True)
class Document:
    """A parsed file, and what was changed in it from the command line."""

    source: str
    value: dict[str, Any] = field(default_factory=dict[str, Any])
    places: dict[Key, Place] = field(default_factory=dict[Key, Place])
    """Where each key stands."""
    overrides: tuple[str, ...] = ()

    def place(self, key: Key) -> Place:
        """Where `key` stands, or the nearest thing around it."""
        while key and key not in self.places:
            key = key[:-1]
        return self.places.get(key, Place(1, 1))

    def written(self, place: Place) -> str:
        """The place as messages name it."""
        if place.override:
            return f"override {place.override} ({self.overrides[place.override - 1]})"
        return f"{self.source}:{place.line}:{place.column}"


def read_toml(text: str, source: str) -> Document:
    """Parses `text`.

    Raises:
        RecipeError: it is not TOML.
    """
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the position is only in the message.
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = f":{at[1]}:{at[2]}" if at else ""
        what = re.sub(r" \(at .*\)$", "", str(error))
        raise RecipeError(f"{source}{place}: not valid TOML: {what}.") from None
    document = Document(source, value)
    document.places.update(_Places(text).found())
    return document


class _Places:
    """Walks a text that `tomllib` has accepted, so nothing is checked here."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._tables: dict[Key, int] = {}
        """For each array of tables, the index of its last one."""
        self._places: dict[Key, Place] = {}

    def found(self) -> dict[Key, Place]:
        table: Key = ()
        while self._skip():
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)
        return self._places

    def _skip(self) -> bool:
        blank = _BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        return self._at < len(self._text)

    def _header(self) -> Key:
        start = self._at
        several = self._text.startswith("[[", self._at)
        self._at += 2 if several else 1
        key: Key = ()
        names = self._names()
        for number, name in enumerate(names, 1):
            key += (name,)
            if several and number == len(names):
                self._tables[key] = self._tables.get(key, -1) + 1
            if key in self._tables:
                key += (self._tables[key],)
        self._at = self._text.index("]", self._at) + (2 if several else 1)
        self._put(key, start)
        return key

    def _pair(self, table: Key) -> None:
        start = self._at
        key = table + self._names()
        self._put(key, start)
        self._at = self._text.index("=", self._at) + 1
        self._value(key)

    def _names(self) -> tuple[str, ...]:
        names: list[str] = []
        while True:
            self._skip()
            if self._text[self._at] in "\"'":
                names.append(tomllib.loads(f"x = {self._take(_STRING)}")["x"])
            else:
                names.append(self._take(_BARE))
            self._skip()
            if self._text[self._at] != ".":
                return tuple(names)
            self._at += 1

    def _value(self, key: Key) -> None:
        self._skip()
        first = self._text[self._at]
        if first in "\"'":
            self._take(_STRING)
        elif first == "[":
            self._items(key)
        elif first == "{":
            self._at += 1
            while self._skip() and self._text[self._at] != "}":
                self._pair(key)
                self._comma()
            self._at += 1
        else:
            self._take(_SCALAR)

    def _items(self, key: Key) -> None:
        self._at += 1
        index = 0
        while self._skip() and self._text[self._at] != "]":
            self._put((*key, index), self._at)
            self._value((*key, index))
            self._comma()
            index += 1
        self._at += 1

    def _comma(self) -> None:
        self._skip()
        self._at += self._text[self._at] == ","

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        assert match, self._at
        self._at = match.end()
        return match[0]

    def _put(self, key: Key, at: int) -> None:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        self._places.setdefault(key, Place(line, column))


def write_toml(value: Mapping[str, Any]) -> str:
    """The TOML of `value`. Nothing stands for `None`: such keys are left out."""
    return "\n".join(_table(value, ())).strip("\n") + "\n"


def _table(value: Mapping[str, Any], name: tuple[str, ...]) -> Iterator[str]:
    if name:
        yield ""
        yield f"[{'.'.join(map(_key, name))}]"
    for key, item in value.items():
        if item is not None and not isinstance(item, Mapping):
            yield f"{_key(key)} = {inline(item)}"
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _table(cast("Mapping[str, Any]", item), (*name, key))


def inline(value: Any) -> str:
    """A value in one line of TOML."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return "{" + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(item) for item in cast("list[Any]", value)) + "]"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else inline(name)
