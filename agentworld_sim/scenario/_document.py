"""A YAML or JSON text becomes plain values, with the line and column of each; and the messages about what is wrong
with them, also by what pydantic found: where, what was found, what is allowed, what next.

The values are JSON's: no dates, no octal numbers, no `yes` for true (YAML 1.2's core schema). No
tag builds an object, repeated keys are errors, and aliases cannot grow without bound.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agentworld_sim.errors import ScenarioError, nearest
from agentworld_sim.plain_text import key_path
from agentworld_sim.scenario._content import FILE_FORMS, GOAL_FORMS, form_hint
from agentworld_sim.scenario._sections import ToolObject
from agentworld_sim.scenario._types import KeyedProblems, unknown_key

MAX_SHOWN = 10


class Place(NamedTuple):
    """A position in a text, both counted from one."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file."""

    place: Place
    key: tuple[str | int, ...]
    message: str

    def text(self, source: str) -> str:
        where = f"{source}:{self.place.line}:{self.place.column}: "
        return where + (f"{key_path(self.key)}: " if self.key else "") + self.message


def error_at(source: str, place: Place, message: str) -> ScenarioError:
    """The error for a file with a single problem that stops the reading."""
    return ScenarioError(Problem(place, (), message).text(source))


def problems_error(source: str, problems: Iterable[Problem]) -> ScenarioError:
    """One error for all of them, in the order of the file; at most `MAX_SHOWN` are shown."""
    ordered = sorted(set(problems), key=lambda problem: (problem.place, key_path(problem.key)))
    lines = [problem.text(source) for problem in ordered[:MAX_SHOWN]]
    if len(ordered) == 1:
        return ScenarioError(lines[0])
    if len(ordered) > MAX_SHOWN:
        lines.append(f"… and {len(ordered) - MAX_SHOWN} more.")
    head = f"{source}: {len(ordered)} problems:\n  "
    return ScenarioError(head + "\n  ".join(lines))


MAX_BYTES = 64 * 1024**2
MAX_NODES = 200_000
"""Values in one file, aliases counted each time: a few lines of aliases can stand for billions."""
MAX_DEPTH = 100

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Key = tuple[str | int, ...]


@dataclass(slots=True)
class Document:
    """A parsed file."""

    source: str
    value: Json = None
    values: dict[Key, Place] = field(default_factory=dict[Key, Place])
    """Where each value starts."""
    keys: dict[Key, Place] = field(default_factory=dict[Key, Place])
    """Where each key of a mapping starts."""
    problems: list[Problem] = field(default_factory=list[Problem])
    unplaced: str = ""
    """A JSON text whose places nobody has asked for."""

    def place(self, key: Key, *, of_key: bool = False) -> Place:
        """The position of `key`, or of the nearest thing around it."""
        if self.unplaced:
            found = _YamlReader(Document(self.source)).read(self.unplaced)
            self.values, self.keys, self.unplaced = found.values, found.keys, ""
        if of_key and key in self.keys:
            return self.keys[key]
        while key and key not in self.values:
            key = key[:-1]
        return self.values.get(key, Place(1, 1))


def read_document(text: str, source: str) -> Document:
    """Parse `text`.

    Raises:
        ScenarioError: it is neither YAML nor JSON, or is too large or too deep.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            return _read_json(text.removeprefix("\ufeff"), source)
        except json.JSONDecodeError as error:
            if source.endswith(".json"):
                place = Place(error.lineno, error.colno)
                raise error_at(source, place, f"not valid JSON: {error.msg}.") from error
        except (ValueError, RecursionError):
            # A number of five thousand digits, or lists in lists in lists: met again as YAML.
            pass
    return _YamlReader(Document(source)).read(text)


def _read_json(text: str, source: str) -> Document:
    """As JSON, which is YAML but for surrogate pairs, and a hundred times faster to read."""

    def no_constant(name: str) -> Json:
        raise json.JSONDecodeError(f"{name} is not JSON", text, text.find(name))

    def distinct(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        repeats.append(len(found) < len(pairs))
        return found

    repeats: list[bool] = []
    value = json.loads(text, parse_constant=no_constant, object_pairs_hook=distinct)
    # Escapes of the same length, which YAML has too.
    yaml_text = _SURROGATE.sub(r"\1\\ufffd", text)
    document = Document(source, value, unplaced=yaml_text)
    # As YAML the text is read with all its places, which takes long and is seldom wanted.
    if any(repeats) or text.count(",") + text.count("[") + text.count("{") >= MAX_NODES:
        document = _YamlReader(Document(source)).read(yaml_text)
        document.value = value
    _check_strings(value, (), document)
    return document


_SURROGATE = re.compile(r"(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def _check_strings(value: Json, key: Key, document: Document) -> None:
    """Notes what no UTF-8 text holds, numbers without end, and what is nested too deep."""
    if isinstance(value, dict | list):
        if len(key) >= MAX_DEPTH:
            raise error_at(
                document.source,
                document.place(key),
                f"nested more than {MAX_DEPTH} deep. Flatten it.",
            )
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, below in items:
            if isinstance(name, str):
                _check_strings(name, key, document)
            _check_strings(below, (*key, name), document)
    elif isinstance(value, float) and not math.isfinite(value):
        document.problems.append(Problem(document.place(key), key, TOO_LARGE))
    elif isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value):
        message = (
            "half of a surrogate pair, which no UTF-8 text holds. "
            "Write both halves, or the content as base64."
        )
        document.problems.append(Problem(document.place(key), key, message))


TOO_LARGE = "the number is too large. Write a smaller one."


class _Loader(yaml.CSafeLoader):
    """libyaml's parser (the one in Python takes minutes for what the size limit allows), used for
    nodes only: nothing here constructs an object."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.yaml_implicit_resolvers = _RESOLVERS


_NULL, _BOOL, _INT, _FLOAT = (f"tag:yaml.org,2002:{n}" for n in ("null", "bool", "int", "float"))
_STR = "tag:yaml.org,2002:str"
_CONTAINERS = ("tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")
# YAML 1.2, core schema (section 10.3), without octal and hexadecimal numbers, `.inf` and `.nan`.
# A number with leading zeros stays text, so that a mode keeps the digits that were written.
_RESOLVERS: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
for _tag, _pattern, _first in (
    (_NULL, r"^(?:null|Null|NULL|~|)$", ["n", "N", "~", ""]),
    (_BOOL, r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    (_INT, r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    (
        _FLOAT,
        r"^[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$",
        list("-+0123456789"),
    ),
):
    for _character in _first:
        _RESOLVERS.setdefault(_character, []).append((_tag, re.compile(_pattern)))


class _YamlReader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0

    def enter(self, key: Key, place: Place) -> None:
        self.document.values[key] = place
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self._error(
                place,
                f"more than {MAX_NODES:,} values, aliases included. Move files out of the "
                "scenario with `from` or `files_from`.",
            )
        if len(key) > MAX_DEPTH:
            raise self._error(place, f"nested more than {MAX_DEPTH} deep. Flatten it.")

    def key(self, key: Key, place: Place) -> None:
        first = self.document.keys.setdefault(key, place)
        if first is not place:
            self.document.problems.append(
                Problem(
                    place,
                    key,
                    f"the key is repeated; it was first on line {first.line}. Keep one of the two.",
                )
            )

    def read(self, text: str) -> Document:
        try:
            node: yaml.Node | None = _Loader(text).get_single_node()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped in the stubs
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
            what = ", ".join(part for part in (error.context, error.problem) if part)
            raise self._error(place, f"not valid YAML: {what}.") from error
        except yaml.reader.ReaderError as error:
            before = text[: error.position]
            place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
            character = f"U+{ord(text[error.position]):04X}" if error.position < len(text) else "?"
            raise self._error(
                place,
                f"not valid YAML: the character {character} is not allowed. "
                "Write it as an escape in double quotes, or the content as base64.",
            ) from error
        except RecursionError as error:
            raise self._error(Place(1, 1), "nested too deeply. Flatten it.") from error
        if node is None:
            message = "the file is empty. Start with `name:` and `domains:`."
            raise self._error(Place(1, 1), message)
        self.document.value = self._value(node, ())
        return self.document

    def _value(self, node: yaml.Node, key: Key) -> Json:
        place = _place(node)
        self.enter(key, place)
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _CONTAINERS:
            raise self._no_tag(node.tag, place)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*key, n)) for n, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, key))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, key, place)
        raise AssertionError(node)

    def _pairs(self, node: yaml.MappingNode, key: Key) -> Iterator[tuple[str, Json]]:
        for name_node, value_node in node.value:
            place = _place(name_node)
            if not isinstance(name_node, yaml.ScalarNode):
                raise self._error(place, "a key must be text, not a list or a mapping.")
            name = name_node.value
            self.key((*key, name), place)
            yield name, self._value(value_node, (*key, name))

    def _scalar(self, node: yaml.ScalarNode, key: Key, place: Place) -> Json:
        text, tag = node.value, node.tag
        if tag == _STR:
            return text
        if tag == _NULL:
            return None
        if tag == _BOOL:
            return text.lower() == "true"
        try:
            if tag == _INT:
                return int(text)
            if tag == _FLOAT:
                value = float(text)
                if not math.isfinite(value):
                    self.document.problems.append(Problem(place, key, TOO_LARGE))
                return value
        except ValueError as error:
            raise self._error(place, f"not a number: {text[:40]!r}.") from error
        raise self._no_tag(tag, place)

    def _no_tag(self, tag: str, place: Place) -> ScenarioError:
        return self._error(
            place,
            f"the tag {tag!r} is not allowed. Write plain text, numbers, lists and mappings; "
            "binary content goes under `base64`.",
        )

    def _error(self, place: Place, message: str) -> ScenarioError:
        return error_at(self.document.source, place, message)


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)


def source_text(data: bytes, source: str) -> str:
    """Decode a scenario file.

    Raises:
        ScenarioError: it is too large, or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise ScenarioError(
            f"{source}: larger than {MAX_BYTES // 1024**2} MiB. Move files out of the scenario "
            "with `from` or `files_from`."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        raise error_at(
            source, place, f"byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8."
        ) from error


FORMS: dict[str, type[BaseModel]] = {
    **{f"<{form}>": model for form, model in FILE_FORMS.items()},
    "<plain>": FILE_FORMS["text"],
    "<toolkit>": ToolObject,
    "<tool>": ToolObject,
    **GOAL_FORMS,
}
"""pydantic puts the chosen arm of a union into a location; nobody wrote it in the file."""

_ALLOWED = {
    "string_type": "text. Put it in double quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "literal_error": "{expected}",
    "string_too_short": "text that is not empty",
    "too_short": "at least {min_length} of them",
}


def problems_of(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> list[Problem]:
    """The problems that `error` tells of, placed in `document`."""
    found: list[Problem] = []
    for details in error.errors(include_url=False):
        found.extend(_problems(details, document, model))
    return found


def _problems(details: ErrorDetails, document: Document, top: type[BaseModel]) -> Iterator[Problem]:
    loc = details["loc"]
    about_key = bool(loc) and loc[-1] == "[key]"
    key: Key = tuple(part for part in loc if part not in FORMS and part != "[key]")
    context: dict[str, Any] = details.get("ctx") or {}
    inner = context.get("error")
    if isinstance(inner, KeyedProblems):
        for below, message in inner.problems:
            yield Problem(document.place(key + below), key + below, message)
    elif details["type"] == "missing":
        yield Problem(document.place(key[:-1]), key, f"required, but not there. Add `{key[-1]}:`.")
    elif details["type"] == "extra_forbidden":
        fields = _model_at(loc[:-1], top).model_fields
        message = unknown_key(str(key[-1]), (one.alias or name for name, one in fields.items()))
        yield Problem(document.place(key, of_key=True), key, message)
    else:
        value = key[-1] if about_key else details["input"]
        allowed = _expectation(details, value, context).rstrip(".")
        ending = "" if allowed.endswith("?") else "."
        message = f"found {_describe(value)}; allowed: {allowed}{ending}"
        yield Problem(document.place(key, of_key=about_key), key, message)


def _expectation(details: ErrorDetails, value: object, context: dict[str, Any]) -> str:
    kind = details["type"]
    if kind == "allowed":
        return str(context["text"])
    if kind in ("file_form", "goal_form"):
        return form_hint(kind, value)
    if context.get("expected") == "True":
        return "true"
    if kind in _ALLOWED:
        hint = ""
        if kind == "literal_error" and isinstance(value, str):
            hint = nearest(value, [word.strip("',") for word in str(context["expected"]).split()])
        return _ALLOWED[kind].format(**context) + (f".{hint}" if hint else "")
    return details["msg"]


def _model_at(loc: tuple[str | int, ...], model: type[BaseModel]) -> type[BaseModel]:
    """The innermost model around a location, in which pydantic also names the arms of unions."""
    for part in loc:
        if part in FORMS:
            model = FORMS[part]
        else:
            fields = {field.alias or name: field for name, field in model.model_fields.items()}
            if part in fields:
                model = next(_models_in(fields[part].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _describe(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        keys = [str(key) for key in cast("dict[object, object]", value)]
        return f"a mapping with the keys {', '.join(keys[:5])}" if keys else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[0]
