"""A configuration file as a tree of values that know where they stand in the text.

Files are changed by replacing spans of their text, never by writing a parsed value out again: that is
what keeps comments, order, indentation and line endings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["map", "list", "scalar"]


@dataclass(frozen=True, slots=True)
class Node:
    """One value. Offsets count characters of the text."""

    kind: Kind
    start: int
    end: int
    value: Any
    """The whole value as Python data."""
    members: tuple[Member, ...] = ()
    """Of a map, in the order of the text."""
    items: tuple[Node, ...] = ()
    """Of a list."""
    flow: bool = True
    """Whether brackets and commas hold it together; else lines do (TOML tables, YAML blocks)."""
    shared: bool = False
    """Whether a YAML alias stands for it elsewhere, which would change with it."""

    def member(self, key: str) -> Member | None:
        """The member of that key; of two with one key the last, as parsers do."""
        return next((one for one in reversed(self.members) if one.key == key), None)

    def at(self, *path: str) -> Node | None:
        """The value at a path of keys, if there is one."""
        node = self
        for key in path:
            found = node.member(key)
            if found is None:
                return None
            node = found.node
        return node


@dataclass(frozen=True, slots=True)
class Member:
    """A key of a map and its value."""

    key: str
    start: int
    """Where the key begins, with its quotes."""
    key_end: int
    node: Node

    @property
    def end(self) -> int:
        """Where its value ends."""
        return self.node.end


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Text to put in the place of a span; the span may be empty."""

    start: int
    end: int
    text: str = field(compare=False)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after all edits, which must not overlap."""
    pieces: list[str] = []
    at = 0
    for edit in sorted(edits):
        if edit.start < at:
            raise AssertionError(f"edits overlap at {edit.start}")
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])


@dataclass(frozen=True, slots=True)
class Document:
    """A configuration file's text, read."""

    text: str
    root: Node
    assignment: str
    """What stands between a key and its value."""
    bare_keys: bool
    """Whether plain words are keys without quotes."""
    inline_tables: bool = False
    """Whether an added map stands on one line wherever it is (TOML)."""

    @property
    def newline(self) -> str:
        """Its line ending; that of the first line."""
        at = self.text.find("\n")
        return "\r\n" if at > 0 and self.text[at - 1] == "\r" else "\n"

    def source(self, node: Node) -> str:
        """A value as it is written."""
        return self.text[node.start : node.end]

    def gap(self, at: int, *, flow: bool) -> str:
        """What separates something that begins at `at` from a neighbour: a line break and the same
        indentation, or a space where several stand on one line."""
        before = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        if not before.strip(" \t"):
            return self.newline + before
        return " " if flow else self.newline + " " * len(before)

    def key(self, name: str) -> str:
        """A key as this format writes it."""
        return name if self.bare_keys else quoted(name)

    def assigned(self, name: str, literal: str) -> str:
        """A key and its value."""
        return f"{self.key(name)}{self.assignment}{literal}"

    def inline(self, members: Sequence[tuple[str, str]]) -> str:
        """A new map on one line."""
        inner = ", ".join(self.assigned(name, literal) for name, literal in members)
        return f"{{ {inner} }}" if self.inline_tables else f"{{{inner}}}"


def quoted(text: str) -> str:
    """A string literal that JSON, TOML and YAML read alike."""
    import json

    literal = json.dumps(text, ensure_ascii=False)
    # JSON lets these stand as they are, one of the others does not.
    return "".join(
        sign if sign.isprintable() or sign == " " else f"\\u{ord(sign):04x}" for sign in literal
    )


def prepended_members(
    document: Document, node: Node, members: Sequence[tuple[str, str]]
) -> list[Edit]:
    """Puts keys with their literals before those of a map."""
    texts = [document.assigned(name, literal) for name, literal in members]
    if not texts:
        return []
    if node.members:
        first = node.members[0].start
        gap = document.gap(first, flow=node.flow)
        comma = "," if node.flow else ""
        return [Edit(first, first, "".join(f"{text}{comma}{gap}" for text in texts))]
    if node.flow:
        return [Edit(node.start + 1, node.start + 1, ", ".join(texts))]
    # An empty table: its header's line is all there is.
    return [Edit(node.start, node.start, "".join(document.newline + text for text in texts))]


def prepended_items(document: Document, node: Node, literals: Sequence[str]) -> list[Edit]:
    """Puts literals before the items of a list."""
    if not node.items:
        return [Edit(node.start + 1, node.start + 1, ", ".join(literals))]
    if node.flow:
        first = node.items[0].start
        gap = document.gap(first, flow=True)
        return [Edit(first, first, f"{', '.join(literals)},{gap}")]
    gap = document.gap(node.start, flow=False)
    return [Edit(node.start, node.start, "".join(f"- {literal}{gap}" for literal in literals))]


def without_items(document: Document, node: Node, count: int) -> list[Edit]:
    """Takes the first items out of a list."""
    first, last = node.items[0], node.items[count - 1]
    if count == len(node.items):
        return [Edit(first.start, last.end, "")]
    following = node.items[count].start
    if node.flow:
        return [Edit(first.start, following, "")]
    return [Edit(node.start, document.text.rindex("-", 0, following), "")]


def without_members(node: Node, taken: Iterable[Member], *, appended: bool) -> list[Edit]:
    """Takes members out of a map, each run of neighbours together.

    Args:
        node: The map.
        taken: What is to go.
        appended: Whether they were put after their neighbours; else before them. Each is the exact
            inverse of putting them there.
    """
    gone = {one.start for one in taken}
    edits: list[Edit] = []
    run: list[int] = []
    members = node.members
    for index in range(len(members) + 1):
        if index < len(members) and members[index].start in gone:
            run.append(index)
            continue
        if run:
            edits.append(_run_removed(node, run[0], run[-1], appended=appended))
            run = []
    return edits


def _run_removed(node: Node, first: int, last: int, *, appended: bool) -> Edit:
    members = node.members
    follows = last + 1 < len(members)
    if first > 0 and (appended or not follows):
        return Edit(members[first - 1].end, members[last].end, "")
    if follows:
        return Edit(members[first].start, members[last + 1].start, "")
    # All of them. Those of a table without brackets stand after its header.
    return Edit(members[first].start if node.flow else node.start, members[last].end, "")
