"""JSON as editors write it, with comments and trailing commas; and where its objects stand."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from agentworld_sim.errors import UsageError

Path = tuple[str, ...]
"""The keys that lead to a value."""

_DECODER = json.JSONDecoder(strict=False)
_STRING = r'"(?:[^"\\\r\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")
_SPACE = re.compile(r"[ \t\r\n]*")


class JsoncError(UsageError):
    """The text is no JSON, even with comments allowed."""


class JsoncDocument(NamedTuple):
    """What was read."""

    value: Any
    spans: dict[Path, tuple[int, int]]
    """Where the values of objects stand, down to the depth that was asked for."""
    repeated: set[Path]
    """Keys that stand twice; the last one counts, as for other parsers."""


def read_jsonc(text: str, *, depth: int = 0) -> JsoncDocument:
    """Reads JSON with `//` and `/* */` comments and trailing commas.

    Args:
        text: The text, perhaps with a byte order mark.
        depth: How many levels of keys are to be placed.

    Raises:
        JsoncError: with line and column.
    """
    # Blanks in the place of what JSON does not have keep every other sign where it is.
    plain = _LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text))
    plain = " " + plain[1:] if plain.startswith("\ufeff") else plain
    try:
        value = _DECODER.decode(plain)
    except json.JSONDecodeError as error:
        problem = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise JsoncError(f"line {error.lineno}, column {error.colno}: {problem}.") from None
    except RecursionError:
        raise JsoncError("it is nested too deeply.") from None
    except ValueError as error:
        raise JsoncError(f"{error}.") from None
    document = JsoncDocument(value, {}, set())
    if depth and isinstance(value, dict):
        _note_positions(document, plain, _skip(plain, 0), (), depth)
    return document


def _note_positions(document: JsoncDocument, text: str, at: int, path: Path, depth: int) -> None:
    """Notes where the members of the object at `at` stand; the text has been accepted before."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        inner = (*path, key)
        start = _skip(text, text.index(":", at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        if inner in document.spans:
            document.repeated.add(inner)
        document.spans[inner] = (start, end)
        if depth > 1 and isinstance(value, dict):
            _note_positions(document, text, start, inner, depth - 1)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _blank(found: re.Match[str]) -> str:
    # A line break stays, for the line that an error names.
    return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])
