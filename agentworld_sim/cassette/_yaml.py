"""The YAML of cassettes: written so that people can read it and a difference stays small, read back exactly.

PyYAML writes it. Texts of several lines stand as they are where YAML and editors leave them alone; otherwise
line by line (`!lines`), since editors take trailing spaces away. A text that is JSON on one line stands as a
structure (`!compact`, `!spaced`: without and with spaces). What YAML cannot hold stands as JSON (`!json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import yaml

DEEPEST = 12
"""Deeper values stand as JSON."""

WIDTH = 100
"""Of lists on one line, and of JSON texts that are left on one line."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_BLOCK = re.compile(
    # All but printable characters, white space at either end or at the end of a line.
    "[^\n\x20-\x7e\xa0-\u1fff\u2010-\u2027\u2030-\u205f\u2070-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe"
    "\uff00-\ufffd\U00010000-\U000dffff\U000f0000-\U000ffffd]|\\A[ \n]| (?:\n|\\Z)|\n\n\\Z"
)

_JSON_STYLES: Mapping[str, dict[str, Any]] = {
    "!compact": {"separators": (",", ":"), "ensure_ascii": False},
    "!spaced": {"ensure_ascii": False},
}


_LIST, _MAPPING = "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"

Convert = Callable[[Any, Any], Any]
"""Takes the dumper or loader, and the value or node."""


class Inline(dict[str, str]):
    """A mapping that stands on one line."""


class Block(list[str]):
    """A list that stands on a line for each item."""


class _Deep:
    """A value that stands as JSON."""

    def __init__(self, value: Any) -> None:
        self.value = value


def dump(value: Any) -> str:
    """A JSON value as YAML."""
    return cast("Any", yaml).dump(
        _limit_depth(value),
        Dumper=_dumper(),
        allow_unicode=True,
        default_flow_style=False,
        sort_keys=False,
        width=1 << 30,  # nothing is folded: a folded text differs in more lines than have changed
    )


def _limit_depth(value: Any, depth: int = 0) -> Any:
    """The value without levels that recursion could not write."""
    if isinstance(value, Inline | Block) or not value:
        return value
    if isinstance(value, Mapping):
        content = cast("Mapping[str, Any]", value)
        if depth == DEEPEST:
            return _Deep(dict(content))
        return {key: _limit_depth(one, depth + 1) for key, one in content.items()}
    if isinstance(value, list | tuple):
        items = list(cast("Sequence[Any]", value))
        return _Deep(items) if depth == DEEPEST else [_limit_depth(one, depth + 1) for one in items]
    return value


def _no_anchors(dumper: Any, data: object) -> bool:
    return True


@cache
def _dumper() -> type[Any]:
    base: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    # Without anchors: equal values are written twice.
    kind: Any = type("CassetteDumper", (base,), {"ignore_aliases": _no_anchors})
    representers: dict[type, Convert] = {
        str: _represent_text,
        list: _represent_list,
        Block: lambda dumper, items: dumper.represent_sequence(_LIST, items),
        Inline: lambda dumper, pairs: dumper.represent_mapping(_MAPPING, pairs, flow_style=True),
        _Deep: lambda dumper, deep: _represent_json(dumper, deep.value),
    }
    for one, represent in representers.items():
        kind.add_representer(one, represent)
    return kind


def _represent_text(dumper: Any, text: str) -> Any:
    if _SURROGATE.search(text):
        return _represent_json(dumper, text)
    style = '"' if "\n" in text else None
    if "\n" in text[:-1]:
        if _NO_BLOCK.search(text):
            return dumper.represent_sequence("!lines", text.split("\n"), flow_style=False)
        style = "|"
    elif len(text) > WIDTH and text[0] in "{[":
        for tag, value in _structures(text):
            if isinstance(value, dict):
                return dumper.represent_mapping(tag, value, flow_style=False)
            return dumper.represent_sequence(tag, value, flow_style=False)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _structures(text: str) -> list[tuple[str, Any]]:
    """A text that is JSON on one line, as the tag that tells how it was written, and the value."""
    try:
        value: object = json.loads(text)
        styles = _JSON_STYLES.items() if value else ()
        found = [(tag, value) for tag, style in styles if json.dumps(value, **style) == text]
        return [(tag, _limit_depth(value)) for tag, _ in found]
    except (ValueError, RecursionError):
        return []


def _represent_list(dumper: Any, items: list[Any]) -> Any:
    node = dumper.represent_sequence(_LIST, items, flow_style=False)
    if all(isinstance(one, str | int | float | None) for one in items):
        texts = [str(one) for one in items]
        node.flow_style = sum(map(len, texts)) + 2 * len(texts) <= WIDTH
    return node


def _represent_json(dumper: Any, value: Any) -> Any:
    return dumper.represent_scalar("!json", json.dumps(value), style='"')


@cache
def loader() -> type[Any]:
    """A safe loader that knows the tags, and takes for no text only what JSON does."""
    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    kind: Any = type("CassetteLoader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in (
        ("null", r"null|~|", ["n", "~", ""]),
        ("bool", r"true|false", ["t", "f"]),
        ("int", r"-?(?:0|[1-9][0-9]*)", [*"-0123456789"]),
        ("float", r"-?[0-9]+\.[0-9]+(?:e[-+][0-9]+)?|-?\.inf|\.nan", [*"-0123456789."]),
    ):
        kind.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), first)

    def read_styled(loader: Any, node: Any) -> str:
        is_mapping = isinstance(node, yaml.MappingNode)
        construct = loader.construct_mapping if is_mapping else loader.construct_sequence
        return json.dumps(construct(node, deep=True), **_JSON_STYLES[node.tag])

    readers: dict[str, Convert] = {
        "tag:yaml.org,2002:int": lambda loader, node: int(loader.construct_scalar(node)),
        "!json": lambda loader, node: json.loads(loader.construct_scalar(node)),
        "!lines": lambda loader, node: "\n".join(loader.construct_sequence(node)),
        **dict.fromkeys(_JSON_STYLES, read_styled),
    }
    for tag, read in readers.items():
        kind.add_constructor(tag, read)
    return kind
