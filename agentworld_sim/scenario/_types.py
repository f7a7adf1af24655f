"""The kinds of value a scenario is made of, each with what it says when a value does not fit."""

from __future__ import annotations

import ast
import binascii
import inspect
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from agentworld_sim.errors import nearest
from agentworld_sim.regex import lazy_compile
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.tools import DomainName

DOMAINS: tuple[str, ...] = get_args(DomainName)
DEFAULT_CLOCK = datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Strict(BaseModel):
    """Base of every part of a scenario: unknown keys and near types are errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        populate_by_name=True,
        hide_input_in_errors=True,
        # Built when it is first used, which for most parts is within the whole.
        defer_build=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        # Not `use_attribute_docstrings`, which reads every source when the classes are made.
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        texts = attribute_docs(cls, below=Strict)
        for name, field in cls.model_fields.items():
            if name in texts:
                properties.get(field.alias or name, {})["description"] = texts[name]
        return schema


def attribute_docs(cls: type, *, below: type) -> dict[str, str]:
    """What stands below each field of a class, and of its bases that `below` is a base of."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if below not in base.__mro__ or base is below:
            continue
        try:
            (tree,) = ast.parse(dedent(inspect.getsource(base))).body
        except OSError:
            # Made of a control's fields, and not written anywhere.
            continue
        for field, text in pairwise(cast("ast.ClassDef", tree).body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                name, value = cast("ast.Name", field.target), cast("ast.Constant", text.value)
                found[name.id] = inspect.cleandoc(str(value.value))
    return found


Problems = list[tuple[tuple[str | int, ...], str]]
"""Keys, and what is wrong there."""


class KeyedProblems(ValueError):
    """Problems between fields: each with the key it is about, relative to the model that checks."""

    def __init__(self, problems: Iterable[tuple[tuple[str | int, ...], str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(message for _, message in self.problems))

    @classmethod
    def raise_for(cls, problems: Problems) -> None:
        """Raises if there are any."""
        if problems:
            raise cls(problems)


def mismatch(text: str) -> PydanticCustomError:
    """A value does not fit; `text` is what would, and what to do."""
    return PydanticCustomError("allowed", "{text}", {"text": text})


def unknown_key(key: str, known: Iterable[str]) -> str:
    known = sorted(known)
    hint = nearest(key, known) or " Remove it or correct its name."
    return f"unknown key.{hint} Known keys: {', '.join(known)}."


def to_us(moment: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise mismatch(f"an absolute path. Write {normal_path(path)!r}")
    if path != normal_path(path):
        raise mismatch(
            f"a path without '.', '..', '//' or a slash at the end. Write {normal_path(path)!r}"
        )
    if "\0" in path:
        raise mismatch("a path without NUL characters")
    if len(path.encode()) > 4095 or any(len(part.encode()) > 255 for part in path.split("/")):
        raise mismatch("at most 4,095 bytes in all and 255 between two slashes, as on Linux")
    return path


def _below(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not path:
        raise mismatch(
            "a path relative to the scenario file that stays in its folder. Copy what the scenario "
            "needs into that folder"
        )
    return path


def _link(target: str) -> str:
    if not target or "\0" in target:
        raise mismatch("the path that the link points to")
    return target


def _mode(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"(0o?)?[0-7]{3,4}", value):
        return int(value.removeprefix("0o"), 8)
    raise mismatch('permission bits as octal digits in quotes, such as "0644" or "0755"')


def _instant(value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.utcoffset() != timedelta(0) or moment < _EPOCH:
        raise mismatch("an ISO 8601 instant in UTC, from 1970 on, such as 2026-03-02T09:00:00Z")
    return moment.astimezone(UTC)


def _base64(value: Any) -> Any:
    try:
        return b64decode("".join(value.split()), validate=True)
    except (AttributeError, ValueError, binascii.Error):
        raise mismatch("base64 text. `base64 -w0 FILE` prints it") from None


def _regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise mismatch(f"a Python regular expression ({error})") from None
    return pattern


class Matching:
    """Metadata of texts that `pattern` describes in full; `text` says what is allowed."""

    def __init__(self, pattern: str, text: str) -> None:
        self._pattern, self._text = pattern, text
        self._compiled = lazy_compile(pattern)

    def _check(self, value: str) -> str:
        if not self._compiled.fullmatch(value):
            raise mismatch(self._text)
        return value

    def __get_pydantic_core_schema__(
        self, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{self._pattern}$"}


def _domain(value: Any) -> Any:
    if value not in DOMAINS:
        hint = nearest(value, DOMAINS) if isinstance(value, str) else ""
        raise mismatch(f"{', '.join(DOMAINS)}.{hint}")
    return value


AbsolutePath = Annotated[
    str, AfterValidator(_absolute), WithJsonSchema({"type": "string", "pattern": "^/"})
]
RelativePath = Annotated[
    str, AfterValidator(_below), WithJsonSchema({"type": "string", "pattern": "^[^/]"})
]
LinkTarget = Annotated[
    str, AfterValidator(_link), WithJsonSchema({"type": "string", "minLength": 1})
]
Mode = Annotated[
    int,
    BeforeValidator(_mode),
    PlainSerializer(lambda mode: f"{mode:04o}", when_used="json-unless-none"),
    WithJsonSchema({"type": "string", "pattern": "^(0o?)?[0-7]{3,4}$"}),
]
Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Base64 = Annotated[
    bytes,
    BeforeValidator(_base64),
    PlainSerializer(lambda data: b64encode(data).decode(), when_used="json"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
Regex = Annotated[
    str, AfterValidator(_regex), WithJsonSchema({"type": "string", "format": "regex"})
]
Domain = Annotated[DomainName, BeforeValidator(_domain)]

Slug = Annotated[
    str,
    Matching(
        r"[a-z0-9]+(?:[-_.][a-z0-9]+)*",
        "lower-case letters, digits and single hyphens, such as 'failing-test'",
    ),
]
Account = Annotated[
    str, Matching(r"[a-z_][a-z0-9_-]{0,31}", "the name of a user or group, such as 'www-data'")
]
Hostname = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?(?:\.[A-Za-z0-9-]{1,63})*",
        "a host name of letters, digits and hyphens, such as 'web-01'",
    ),
]
ToolName = Annotated[
    str, Matching(r"[A-Za-z0-9_.:/-]{1,128}", "up to 128 letters, digits and the signs _ - . : /")
]
Variable = Annotated[
    str,
    Matching(
        r"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and underscores, not starting with a digit"
    ),
]
Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
