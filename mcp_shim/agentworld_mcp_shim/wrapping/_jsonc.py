"""JSON as editors write it: with comments, trailing commas and where everything stands."""

from __future__ import annotations

import json
import re

from agentworld_mcp_shim.wrapping._nodes import Document, Member, Node
from agentworld_sim.errors import UsageError

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_DEPTH = 200
"""Deeper is no configuration."""


class JsoncError(UsageError):
    """The text is no JSON, even with comments allowed."""


def read_jsonc(text: str) -> Document:
    """Reads JSON with `//` and `/* */` comments and trailing commas.

    Raises:
        JsoncError: with line and column.
    """
    reader = _Reader(text)
    # A byte order mark stands before everything.
    root = reader.value(reader.space(1 if text.startswith("\ufeff") else 0), 0)
    end = reader.space(root.end)
    if end != len(text):
        raise reader.error(end, "something follows the end of the document")
    return Document(text, root, assignment=": ", bare_keys=False)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, at: int, problem: str) -> JsoncError:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        return JsoncError(f"line {line}, column {column}: {problem}.")

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        assert found is not None
        end = found.end()
        if self.text.startswith("/*", end):
            raise self.error(end, "this comment has no end")
        return end

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEPTH:
            raise self.error(at, f"it is nested deeper than {_DEPTH} levels")
        sign = self.text[at : at + 1]
        if sign == "{":
            return self._map(at, depth)
        if sign == "[":
            return self._list(at, depth)
        if sign == '"':
            value, end = self._string(at)
            return Node("scalar", at, end, value)
        word = _WORD.match(self.text, at)
        if word is None:
            raise self.error(
                at, f"found {sign!r} where a value was due" if sign else "it ends early"
            )
        try:
            return Node("scalar", at, word.end(), json.loads(word.group()))
        except ValueError:
            raise self.error(at, f"{word.group()!r} is no JSON value") from None

    def _string(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found is None:
            raise self.error(at, "this string has no end on its line")
        try:
            return json.loads(found.group(), strict=False), found.end()
        except json.JSONDecodeError as error:
            raise self.error(at + error.pos, "there is an invalid escape in this string") from None

    def _map(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        at = self.space(start + 1)
        while not self.text.startswith("}", at):
            if not self.text.startswith('"', at):
                raise self.error(at, self._due('a key in double quotes, or "}"', at))
            key, key_end = self._string(at)
            colon = self.space(key_end)
            if not self.text.startswith(":", colon):
                raise self.error(colon, self._due('":" after the key', colon))
            node = self.value(self.space(colon + 1), depth + 1)
            members.append(Member(key, at, key_end, node))
            at = self._next(node.end, "}")
        value = {one.key: one.node.value for one in members}
        return Node("map", start, at + 1, value, members=tuple(members))

    def _list(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        at = self.space(start + 1)
        while not self.text.startswith("]", at):
            node = self.value(at, depth + 1)
            items.append(node)
            at = self._next(node.end, "]")
        return Node("list", start, at + 1, [one.value for one in items], items=tuple(items))

    def _next(self, at: int, close: str) -> int:
        at = self.space(at)
        if self.text.startswith(",", at):
            return self.space(at + 1)
        if not self.text.startswith(close, at):
            raise self.error(at, self._due(f'"," or "{close}"', at))
        return at

    def _due(self, due: str, at: int) -> str:
        found = self.text[at : at + 1]
        return f"found {found!r} where {due} was due" if found else f"it ends where {due} was due"
