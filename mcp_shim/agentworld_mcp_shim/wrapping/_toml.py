"""TOML with the places of everything in it.

`tomllib` says whether the text is TOML; what is read here may then rely on it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from agentworld_mcp_shim.wrapping._nodes import Document, Member, Node
from agentworld_sim.errors import UsageError

_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")|\'\'\'.*?\'{3,5}(?!\')|"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL
)
_WORD = re.compile(r"[^,\]}#\r\n]*[^,\]}#\s]")


class TomlError(UsageError):
    """The text is no TOML."""


@dataclass(slots=True)
class _Table:
    """A table while it is read: its parts may stand in several places."""

    start: int
    members: dict[str, tuple[int, int, _Table | Node]] = field(
        default_factory=dict[str, "tuple[int, int, _Table | Node]"]
    )

    def node(self) -> Node:
        members = tuple(
            Member(key, start, key_end, what.node() if isinstance(what, _Table) else what)
            for key, (start, key_end, what) in self.members.items()
        )
        end = max([self.start, *(one.end for one in members)])
        value = {one.key: one.node.value for one in members}
        return Node("map", self.start, end, value, members=members, flow=False)


def read_toml(text: str) -> Document:
    """Reads TOML.

    Raises:
        TomlError: with line and column.
    """
    try:
        tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        problem, _, place = str(error).partition(" (at ")
        where = f"{place.rstrip(')')}: " if place else ""
        raise TomlError(f"{where}{problem[:1].lower()}{problem[1:]}.") from None
    return Document(
        text, _Reader(text).document(), assignment=" = ", bare_keys=True, inline_tables=True
    )


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def document(self) -> Node:
        root = table = _Table(0)
        at = self._space(0)
        while at < len(self.text):
            if self.text.startswith("[[", at):
                # Lists of tables hold no servers; what stands in them is read and let go.
                table = _Table(at)
                at = self.text.index("]]", self._path(self._blank(at + 2))[-1][2]) + 2
            elif self.text.startswith("[", at):
                path = self._path(self._blank(at + 1))
                at = self.text.index("]", path[-1][2]) + 1
                table = self._table(root, path, at)
            else:
                at = self._pair(table, at)
            at = self._space(at)
        return root.node()

    def _table(self, root: _Table, path: list[tuple[str, int, int]], after: int) -> _Table:
        table = root
        for index, (key, start, end) in enumerate(path):
            held = table.members.get(key)
            if held is None:
                made = _Table(after)
                table.members[key] = (start, end, made)
                table = made
            elif isinstance(held[2], _Table):
                table = held[2]
                if index == len(path) - 1:
                    # It was named by a deeper header before; its own lines stand here.
                    table.start = after
            else:
                return _Table(after)
        return table

    def _pair(self, table: _Table, at: int) -> int:
        path = self._path(at)
        node = self._value(self._blank(self.text.index("=", path[-1][2]) + 1))
        if len(path) == 1:
            key, start, end = path[0]
            table.members[key] = (start, end, node)
        else:
            # A dotted key: it can be read, and is not written to.
            name, start, end = path[0][0], path[0][1], path[-1][2]
            value: Any = node.value
            for key, _, _ in reversed(path[1:]):
                value = {key: value}
            table.members[name] = (start, end, Node("scalar", node.start, node.end, value))
        return node.end

    def _path(self, at: int) -> list[tuple[str, int, int]]:
        path: list[tuple[str, int, int]] = []
        while True:
            end = self._string_end(at) if self.text[at] in "\"'" else self._bare_end(at)
            path.append((self._key(self.text[at:end]), at, end))
            dot = self._blank(end)
            if not self.text.startswith(".", dot):
                return path
            at = self._blank(dot + 1)

    def _key(self, literal: str) -> str:
        return literal if literal[0] not in "\"'" else self._plain(literal)

    def _plain(self, literal: str) -> Any:
        return tomllib.loads(f"v = {literal}".replace("\r\n", "\n"))["v"]

    def _value(self, at: int) -> Node:
        sign = self.text[at]
        if sign in "\"'":
            end = self._string_end(at)
        elif sign == "[":
            return self._list(at)
        elif sign == "{":
            return self._inline(at)
        else:
            end = self._matched(_WORD, at)
        return Node("scalar", at, end, self._plain(self.text[at:end]))

    def _list(self, start: int) -> Node:
        items: list[Node] = []
        at = self._space(start + 1)
        while not self.text.startswith("]", at):
            items.append(self._value(at))
            at = self._comma(items[-1].end)
        return Node("list", start, at + 1, [one.value for one in items], items=tuple(items))

    def _inline(self, start: int) -> Node:
        table = _Table(start)
        at = self._space(start + 1)
        while not self.text.startswith("}", at):
            at = self._comma(self._pair(table, at))
        node = table.node()
        return Node("map", start, at + 1, node.value, members=node.members)

    def _comma(self, at: int) -> int:
        at = self._space(at)
        return self._space(at + 1) if self.text.startswith(",", at) else at

    def _space(self, at: int) -> int:
        return self._matched(_SPACE, at)

    def _blank(self, at: int) -> int:
        return self._matched(_BLANK, at)

    def _bare_end(self, at: int) -> int:
        return self._matched(_BARE, at)

    def _string_end(self, at: int) -> int:
        return self._matched(_STRING, at)

    def _matched(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self.text, at)
        assert found is not None, at
        return found.end()
