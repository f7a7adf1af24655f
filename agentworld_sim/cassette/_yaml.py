"""The YAML of cassettes: written so that people can read it and a difference stays small, read back exactly.

Texts of several lines stand as they are where YAML and editors leave them alone; otherwise line by line
(`!lines`), since editors take trailing spaces away. A text that is JSON on one line stands as a structure
(`!compact`, `!spaced`: without and with spaces). What YAML cannot hold stands as JSON (`!json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import isinf, isnan
from typing import Any, cast

DEEPEST = 12
"""Deeper values stand as JSON."""

LONGEST_KEY = 200
"""YAML keys have to be short and on one line."""

WIDTH = 100
"""Of lists on one line, and of JSON texts that are left on one line."""

_PLAIN = re.compile(r"(?:-{1,2}|\.{1,2})?[A-Za-z_/][A-Za-z0-9_./@+=-]*(?: [A-Za-z0-9_./@+=-]+)*")
_WORDS = frozenset("true false null yes no on off y n .inf .nan".split())
"""What some reader of YAML takes for no text."""

_ODD = re.compile(
    # All but printable characters: those that no editor changes and every reader sees.
    "[^\t\n\x20-\x7e\xa0-\u1fff\u2010-\u2027\u2030-\u205f\u2070-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe"
    "\uff00-\ufffd\U00010000-\U000dffff\U000f0000-\U000ffffd]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRAILING = re.compile(r"[ \t](?:\n|\Z)")
_ESCAPED = re.compile(rf'["\\\n\t]|{_ODD.pattern}')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}

_STYLES: Mapping[str, dict[str, Any]] = {
    "!compact": {"separators": (",", ":"), "ensure_ascii": False},
    "!spaced": {"ensure_ascii": False},
}


class OneLine(dict[str, str]):
    """A mapping of plain words that stands on one line."""


def mapping_lines(value: Mapping[str, Any], indent: int = 0) -> Iterator[str]:
    """A mapping as lines of YAML, without line ends."""
    for key, one in value.items():
        yield from _entry(f"{' ' * indent}{inline(key)}:", one, indent, 0)


def item_lines(value: Mapping[str, Any], indent: int = 0) -> Iterator[str]:
    """A mapping as an item of a list."""
    first = True
    for line in mapping_lines(value, indent + 2):
        yield f"{' ' * indent}- {line[indent + 2 :]}" if first else line
        first = False


def _entry(head: str, value: Any, indent: int, depth: int) -> Iterator[str]:
    """What follows a key or a dash, with either."""
    if isinstance(value, str):
        yield from _text(head, value, indent, depth)
    elif isinstance(value, OneLine):
        yield f"{head} {{{', '.join(f'{key}: {inline(one)}' for key, one in value.items())}}}"
    elif isinstance(value, Mapping):
        content = cast("Mapping[str, Any]", value)
        if not content:
            yield f"{head} {{}}"
        elif depth >= DEEPEST or any(len(inline(key)) > LONGEST_KEY for key in content):
            yield f"{head} {_as_json(content)}"
        else:
            yield head
            for key, one in content.items():
                inner = f"{' ' * (indent + 2)}{inline(key)}:"
                yield from _entry(inner, one, indent + 2, depth + 1)
    elif isinstance(value, list | tuple):
        yield from _list(head, cast("Sequence[Any]", value), indent, depth)
    else:
        yield f"{head} {_scalar(value)}"


def _list(head: str, items: Sequence[Any], indent: int, depth: int) -> Iterator[str]:
    if depth >= DEEPEST:
        yield f"{head} {_as_json(list(items))}"
        return
    if all(isinstance(one, str | int | float | None) for one in items):
        line = f"{head} [{', '.join(inline(one) for one in items)}]"
        if len(line) <= WIDTH or not items:
            yield line
            return
    yield head
    for one in items:
        dash = f"{' ' * (indent + 2)}-"
        lines = _entry(dash, one, indent + 2, depth + 1)
        first = next(lines)
        if first == dash:
            # A mapping or a list begins on the line of its dash.
            first = f"{dash} {next(lines)[indent + 4 :]}"
        yield first
        yield from lines


def _text(head: str, text: str, indent: int, depth: int) -> Iterator[str]:
    if "\n" in text[:-1]:
        if _ODD.search(text) or _TRAILING.search(text) or text.endswith("\n\n"):
            yield f"{head} !lines"
            yield from (f"{' ' * (indent + 2)}- {inline(line)}" for line in text.split("\n"))
            return
        ends = text.endswith("\n")
        # A first line that begins with white space would be taken for the indentation.
        begins = "2" if text[0] in " \t\n" else ""
        yield f"{head} |{begins}{'' if ends else '-'}"
        pad = " " * (indent + 2)
        lines = text[:-1].split("\n") if ends else text.split("\n")
        yield from (pad + line if line else "" for line in lines)
        return
    if len(text) > WIDTH - indent and text[0] in "{[" and depth < DEEPEST:
        styled = _styled(text)
        if styled is not None:
            tag, value = styled
            yield from _entry(f"{head} {tag}", value, indent, depth)
            return
    yield f"{head} {inline(text)}"


def _styled(text: str) -> tuple[str, Any] | None:
    """A text that is JSON on one line, as the value and how to write it."""
    try:
        value: object = json.loads(text)
        if isinstance(value, dict | list) and value:
            for tag, style in _STYLES.items():
                if json.dumps(value, **style) == text:
                    return tag, cast("Any", value)
    except (ValueError, RecursionError):
        pass
    return None


def inline(value: Any) -> str:
    """A value that holds no others, on one line."""
    if not isinstance(value, str):
        return _scalar(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if _SURROGATE.search(value):
        return _as_json(value)
    if '"' in value and not _ODD.search(value) and not re.search(r"[\n\t]", value):
        return "'" + value.replace("'", "''") + "'"
    return f'"{_ESCAPED.sub(_escape, value)}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _as_json(value: Any) -> str:
    return f'!json "{_ESCAPED.sub(_escape, json.dumps(value))}"'


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if isnan(value) or isinf(value):
            return ".nan" if isnan(value) else ".inf" if value > 0 else "-.inf"
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    if isinstance(value, int):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


@cache
def loader() -> type[Any]:
    """A safe loader that knows the tags, and takes for no text only what JSON does."""
    import yaml

    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    kind: Any = type("TapeLoader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("null", r"null|~|", ["n", "~", ""]),
        ("bool", r"true|false", ["t", "f"]),
        ("int", r"-?[0-9]+", [*"-0123456789"]),
        ("float", r"-?[0-9]+\.[0-9]+(?:e[-+][0-9]+)?|-?\.inf|\.nan", [*"-0123456789."]),
    ):
        kind.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), first)

    def read_int(loader: Any, node: Any) -> int:
        return int(loader.construct_scalar(node))

    def read_json(loader: Any, node: Any) -> Any:
        return json.loads(loader.construct_scalar(node))

    def read_lines(loader: Any, node: Any) -> str:
        return "\n".join(loader.construct_sequence(node))

    kind.add_constructor("tag:yaml.org,2002:int", read_int)
    kind.add_constructor("!json", read_json)
    kind.add_constructor("!lines", read_lines)
    for tag, style in _STYLES.items():

        def read_styled(loader: Any, node: Any, style: dict[str, Any] = style) -> str:
            is_mapping = isinstance(node, yaml.MappingNode)
            construct = loader.construct_mapping if is_mapping else loader.construct_sequence
            return json.dumps(construct(node, deep=True), **style)

        kind.add_constructor(tag, read_styled)
    return kind
