"""What one call asks of a table: its arguments, sorted by what they are for."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from agentworld_sim.engines.table import times
from agentworld_sim.engines.table.expressions import names_in
from agentworld_sim.engines.table.json_schemas import (
    Schema,
    alternative_types,
    properties_of,
    resolve_schema,
)
from agentworld_sim.engines.table.operation import SAID, Argument, Operation, Plan, Role
from agentworld_sim.engines.table.query import SAME, Filter
from agentworld_sim.engines.table.table_errors import invalid, key_text
from agentworld_sim.engines.table.words import snake
from agentworld_sim.relational.layout import Table, join_values
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolSpec

PAGE = 30
"""Records in a page, where the tool pages and does not say."""

MOST = 2**53
"""Limits and offsets beyond this are as good as none."""

_SYNTAX = re.compile(
    r"(?:^|[\s(-])[A-Za-z_][\w.]*:(?!//)[^\s:]"
    r"|\w\s+(?:AND|OR|NOT)\s+\w"
    r'|"[^"]+"'
    r"|\w\*(?:\s|$)"
    r"|\b[A-Za-z_]\w*\s*(?:[<>!]=|=|~)\s*[\w'\"]"
)
"""What a search text has that says more than words: `state:open`, `a OR b`, `"the very words"`, `*`."""

_INSERTED = times.MADE | {"relevance", "best_match", "default", "natural", "position"}
"""What `sort` may be where no field says so: records are in the order in which they were made."""

_SHAPING: frozenset[Role] = frozenset(("limit", "offset", "page", "cursor"))
_SEPARATORS = (":", " ", ",")
_DOWN = frozenset(("desc", "descending", "down", "newest", "-1", "reverse", "true"))
_UP = frozenset(("asc", "ascending", "up", "oldest", "1", "false"))


class NotComputed(Exception):
    """This call cannot be computed; the text says why."""


@dataclass(frozen=True)
class TableRequest:
    """A call, read by its operation."""

    operation: Operation
    table: Table
    plan: Plan
    tool: ToolSpec
    arguments: Mapping[str, Any]

    @cached_property
    def inputs(self) -> Mapping[str, Any]:
        """The tool's own schema of each argument."""
        return properties_of(self.tool.input_schema, (self.tool.input_schema,))

    @cached_property
    def given(self) -> Mapping[str, Any]:
        """The arguments that say something: a default is what the caller means by leaving it out, and
        `null` is nothing where it is the default."""
        given = {
            name: value
            for name, value in self.arguments.items()
            if value is not None or self._means_null(name)
        }
        if self.operation.does not in ("update", "upsert"):
            for name in self.operation.arguments:
                default = self._input(name).get("default")
                if name not in self.arguments and default is not None:
                    given[name] = default
        return given

    def _means_null(self, name: str) -> bool:
        """Whether `null` is a value of this argument, and not a way to leave it out."""
        if "default" in self._input(name):
            return self._input(name)["default"] is not None
        writes = self.operation.does in ("create", "update", "upsert")
        return writes or name in self.tool.input_schema.get("required", ())

    def require_known(self) -> None:
        """Raises `NotComputed`, naming the argument, when one says what cannot be computed."""
        expressions = (*self.operation.changes.values(), *self.operation.requires)
        used = {name for expression in expressions for name in names_in(expression)}
        for name, value in self.given.items():
            argument = self.operation.arguments.get(name)
            if (argument is not None and argument.role != "unknown") or name in used:
                continue
            schema = self._input(name)
            if "default" in schema and schema["default"] == value:
                continue
            raise NotComputed(
                f"the argument {name!r} is not known to mean anything for its records"
            )

    def arguments_with(self, *roles: Role) -> list[tuple[str, Argument, Any]]:
        """The given arguments of some roles: name, meaning, value."""
        return [
            (name, argument, self.given[name])
            for name, argument in self.operation.arguments.items()
            if argument.role in roles and name in self.given
        ]

    def accepts(self, *roles: Role) -> bool:
        """Whether the tool takes an argument of one of the roles."""
        return any(argument.role in roles for argument in self.operation.arguments.values())

    def coerce(self, path: str, value: Any) -> Any:
        """`value` in the type that the table's schema gives the field: "12" and 12 are one key only
        where it says so."""
        if isinstance(value, list):
            return [self.coerce(path, one) for one in cast("list[Any]", value)]
        kinds = alternative_types(self.table.fields.get(path, {}))
        if isinstance(value, str) and kinds and "string" not in kinds:
            if "integer" in kinds and value.isascii() and value.removeprefix("-").isdigit():
                return int(value) if len(value) < 100 else value
            if "boolean" in kinds and value.lower() in ("true", "false"):
                return value.lower() == "true"
        if isinstance(value, int) and not isinstance(value, bool) and kinds:
            if kinds & {"integer", "number"} or "string" not in kinds:
                return value
            return str(value)
        return value

    def resolve_value(self, argument: Argument, value: Any) -> Any:
        """What a value stands for, by `Argument.values`."""
        if argument.values and isinstance(value, str | int | float):
            return argument.values.get(key_text(value), value)
        return value

    # Which records

    @cached_property
    def scope(self) -> Mapping[str, Any]:
        """Field to value of what the records belong to, as far as it is given."""
        found = {
            argument.field or name: self.coerce(argument.field or name, value)
            for name, argument, value in self.arguments_with("scope")
        }
        return {path: value for path, value in found.items() if value is not None}

    @cached_property
    def whole_scope(self) -> str | None:
        """The scope as text, when it is given in full."""
        if any(path not in self.scope for path in self.table.scope):
            return None
        return join_values([self.scope[path] for path in self.table.scope])

    @cached_property
    def keys(self) -> list[dict[str, Any]] | None:
        """The key of each record that is named; `None` when none is."""
        named: list[dict[str, Any]] = [{}]
        given = self.arguments_with("key")
        for name, argument, value in given:
            path = argument.field or (self.table.key[0] if self.table.key else name)
            value = self.coerce(path, self.resolve_value(argument, value))
            values = cast("list[Any]", value) if isinstance(value, list) else [value]
            named = [{**key, path: one} for key in named for one in values]
        if self.operation.does == "delete":
            for _, argument, value in self.arguments_with("records"):
                given.append(("", argument, value))
                values = cast("list[Any]", value) if isinstance(value, list) else [value]
                named = [{**key, **self._key_of(argument, one)} for key in named for one in values]
        return named if given else None

    def items(self) -> list[dict[str, Any]] | None:
        """The records that the call carries; `None` when it carries none."""
        found: list[dict[str, Any]] = []
        arguments = self.arguments_with("records")
        for _, argument, value in arguments:
            values = cast("list[Any]", value) if isinstance(value, list) else [value]
            found += [self._item(argument, one) for one in values]
        return found if arguments else None

    @property
    def is_plural(self) -> bool:
        """Whether the call is about a list of records, even if it names just one."""
        return any(isinstance(value, list) for _, _, value in self.arguments_with("key", "records"))

    @property
    def carries_list(self) -> bool:
        """Whether the records that the call carries are a list."""
        return any(isinstance(value, list) for _, _, value in self.arguments_with("records"))

    def filters(self) -> list[Filter]:
        """The conditions on single fields, those of the tool itself among them."""
        found = [Filter(path, "equal", value) for path, value in self.operation.fixed.items()]
        for name, argument, value in self.arguments_with("field"):
            path = argument.field or name
            meant = self.resolve_value(argument, value)
            if meant is None and value is not None:
                # This value asks for no filter: `state: all`.
                continue
            if meant in ([], "") and meant is not False:
                continue
            found.append(Filter(path, argument.compare, self.coerce(path, meant)))
        for path, value in self.scope.items():
            if self.whole_scope is None or path not in self.table.scope:
                found.append(Filter(path, "equal" if isinstance(value, list) else SAME, value))
        return found

    @property
    def _is_inferred(self) -> bool:
        return SAID not in self.operation.reasons

    def words(self) -> list[str]:
        """What is searched for."""
        found: list[str] = []
        for _, _, value in self.arguments_with("text"):
            texts = cast("list[Any]", value) if isinstance(value, list) else [value]
            for text in texts:
                if self._is_inferred and _SYNTAX.search(key_text(text)):
                    raise NotComputed(
                        f"{key_text(text)[:100]!r} may be more than words to look for"
                    )
                found += key_text(text).split()
        return found

    # How a list is shaped

    def limit(self) -> int | None:
        """Most records of the answer; `None` for all."""
        for name, _, value in self.arguments_with("limit"):
            return _natural(name, value)
        return PAGE if self.accepts("cursor", "page") else None

    def offset(self, limit: int | None) -> int:
        """How many records are passed over."""
        for name, _, value in self.arguments_with("cursor"):
            if value not in ("", None):
                return self._position(name, value)
        for name, _, value in self.arguments_with("offset"):
            return _natural(name, value)
        for name, argument, value in self.arguments_with("page"):
            number = _natural(name, value) - argument.first
            if number < 0:
                raise invalid(name, value)
            return min(number * (limit or 0), MOST)
        return 0

    def next_cursor(self, offset: int, limit: int) -> Any:
        """What fetches the page after the one at `offset`."""
        if self.accepts("cursor"):
            return self._cursor(offset + limit)
        for argument in self.operation.arguments.values():
            if argument.role == "page" and limit:
                return (offset + limit) // limit + argument.first
        return offset + limit

    def fields(self) -> list[str] | None:
        """The fields that the answer shall have; `None` for all."""
        for _, _, value in self.arguments_with("projection"):
            if isinstance(value, str):
                return [part.strip() for part in value.split(",") if part.strip()] or None
            if isinstance(value, list):
                return [str(one) for one in cast("list[Any]", value)] or None
        return None

    def order(self, known: Sequence[str]) -> tuple[str | None, bool]:
        """The field that records are sorted by, one of `known`, and whether downwards."""
        path, down = None, False
        for name, argument, value in self.arguments_with("sort"):
            path, down = self._sorting(name, argument, value, known)
        for name, _, value in self.arguments_with("direction"):
            shown = key_text(value).strip().lower()
            if shown not in _DOWN | _UP:
                raise invalid(name, value)
            down = shown in _DOWN
            if shown in ("true", "false") and "asc" in name.lower():
                down = not down
            if path is None:
                path = next((one for one in known if snake(one) in times.MADE), None)
        return path, down

    def _sorting(
        self, name: str, argument: Argument, value: Any, known: Sequence[str]
    ) -> tuple[str | None, bool]:
        if isinstance(value, list) and value:
            value = cast("list[Any]", value)[0]
        if not isinstance(value, str) or not value:
            if value in ("", None, []):
                return None, False
            raise invalid(name, value)
        meant = self.resolve_value(argument, value)
        if meant is None:
            return None, False
        text = str(meant)
        down = text.startswith("-")
        text = text.removeprefix("-").removeprefix("+")
        for separator in _SEPARATORS:
            before, found, after = text.rpartition(separator)
            if found and after.strip().lower() in _DOWN | _UP:
                text, down = before.strip(), after.strip().lower() in _DOWN
                break
        path = _nearest_field(text, known)
        if path is None and not self._lists_values(name):
            raise invalid(name, value)
        plain = value == self._input(name).get("default") or snake(text) in _INSERTED
        if path is None and not plain:
            raise NotComputed(f"no field of its records says what to sort by for {value!r}")
        return path, down

    def _lists_values(self, name: str) -> bool:
        """Whether the tool itself says which values the argument takes."""
        return "enum" in json.dumps(self._input(name))

    # Cursors

    def _cursor(self, offset: int) -> Any:
        for name, argument in self.operation.arguments.items():
            kinds = alternative_types(self._input(name), (self.tool.input_schema,))
            if argument.role == "cursor" and kinds and "string" not in kinds:
                return offset
        text = f"{offset}:{self._seal(offset)}"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def _position(self, name: str, cursor: Any) -> int:
        if isinstance(cursor, int) and not isinstance(cursor, bool):
            return _natural(name, cursor)
        try:
            padded = str(cursor) + "=" * (-len(str(cursor)) % 4)
            offset, _, seal = base64.urlsafe_b64decode(padded.encode()).decode().partition(":")
            if seal == self._seal(int(offset)):
                return int(offset)
        except ValueError:
            pass
        raise invalid(name, cursor)

    def _seal(self, offset: int) -> str:
        """What only a cursor that was given out for this very list has."""
        shaping = {name for name, _, _ in self.arguments_with(*_SHAPING)}
        asked = {name: value for name, value in self.given.items() if name not in shaping}
        text = canonical_json([self.operation.tool, asked, offset])
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()

    # Items

    def _input(self, name: str) -> Schema:
        return resolve_schema(self.inputs.get(name, {}), (self.tool.input_schema,))

    def _item(self, argument: Argument, value: Any) -> dict[str, Any]:
        if isinstance(value, Mapping):
            fields = cast("Mapping[str, Any]", value)
            return {
                argument.fields.get(name, name): self.coerce(argument.fields.get(name, name), one)
                for name, one in fields.items()
            }
        path = argument.field or (self.table.key[0] if self.table.key else "value")
        return {path: self.coerce(path, value)}

    def _key_of(self, argument: Argument, value: Any) -> dict[str, Any]:
        item = self._item(argument, value)
        own = {path: item[path] for path in (*self.table.key, *self.table.scope) if path in item}
        return own or item


def _natural(name: str, value: Any) -> int:
    """A whole number from 0, also written as a text. Raises `ToolError`."""
    number = value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 100:
        number = int(value)
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise invalid(name, value)
    return min(number, MOST)


def _nearest_field(text: str, known: Sequence[str]) -> str | None:
    """The field that a word in `sort` means: `created` is `created_at`."""
    if text in known:
        return text
    if re.fullmatch(r"\w[\w -]*", text) is None:
        return None
    by_word = {snake(one): one for one in known}
    word = snake(text)
    for form in (word, f"{word}_at", f"{word}_on", f"{word}_date", f"{word}_time", f"date_{word}"):
        if form in by_word:
            return by_word[form]
    return None
