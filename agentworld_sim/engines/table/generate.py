"""Values that fit a JSON Schema and are plausible for a field's name: the same in every process."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from rstr import Rstr

from agentworld_sim.engines.table import plausible, times
from agentworld_sim.engines.table.json_schemas import (
    Schema,
    alternative_types,
    alternatives,
    not_null,
    nullable,
    resolve_schema,
    types_of,
)
from agentworld_sim.engines.table.plausible import STATES, SeededRandom
from agentworld_sim.engines.table.query import number, same
from agentworld_sim.engines.table.words import singular, snake
from agentworld_sim.schema.limits import in_python, is_pattern, pattern_fits

_DEEPEST = 6
"""Objects inside objects; deeper ones hold only what they must."""

_ABSENT: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Makes values."""

    draw: SeededRandom
    clock_us: int
    roots: Sequence[Schema] = ()
    """Where `$ref`s point into."""
    new: bool = False
    """Whether it is for something just made: nothing has happened to it, so counts are 0, lists are
    empty and the first of several states is its own."""
    moments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Field to another record's value, whose form moments take."""

    def value(
        self, schema: Any, name: str, *, about: str = "", path: str = "", depth: int = 0
    ) -> Any:
        """A value that fits `schema`, as far as that can be seen to, for a field inside of what is named
        `about`; `path` is its place in the record, `name` by default."""
        roots = self.roots
        if isinstance(schema, Mapping):
            roots = (*roots, cast("Schema", schema))
        own = resolve_schema(schema, roots)
        place = plausible.FieldContext(self.draw, name, about, self.clock_us, path or name)
        told = self._schema_value(own, place)
        if told is not _ABSENT:
            return told
        if self.new and nullable(own, self.roots) and not times.is_moment(name):
            return None
        own = self._choose_alternative(own)
        told = self._schema_value(own, place)
        if told is not _ABSENT:
            return told
        kinds = types_of(own)
        kind = next((one for one in kinds if one != "null"), kinds[0] if kinds else "")
        return self._of(kind, own, place, depth)

    def _schema_value(self, schema: Schema, place: plausible.FieldContext) -> Any:
        """What the schema itself gives."""
        if "const" in schema:
            return schema["const"]
        listed = schema.get("enum")
        if isinstance(listed, list) and listed:
            values = cast("list[Any]", listed)
            if "default" in schema and schema["default"] in values and self.new:
                return schema["default"]
            given = [value for value in values if value is not None] or values
            return given[0] if self.new else place.own.one_of(given)
        if self.new and "default" in schema:
            return schema["default"]
        examples = schema.get("examples")
        if isinstance(examples, list) and examples and not self.new:
            return place.own.one_of(cast("list[Any]", examples))
        return _ABSENT

    def _choose_alternative(self, schema: Schema) -> Schema:
        """One alternative that is not null, with what is said beside it."""
        among = alternatives(schema)
        for one in among:
            if alternative_types(one, self.roots) != {"null"}:
                return not_null({**schema, "anyOf": [one], "oneOf": None}, self.roots)
        return {"type": "null"} if among else schema

    def _of(self, kind: str, schema: Schema, place: plausible.FieldContext, depth: int) -> Any:
        if kind == "object":
            return self._object(schema, place, depth)
        if kind == "array":
            return self._array(schema, place, depth)
        if kind == "boolean":
            # Most of what can be true of a record is not: archived, locked, private.
            return not self.new and place.own.below(4) == 0
        if kind in ("integer", "number"):
            return self._number(kind, schema, place)
        if kind == "null":
            return None
        return self._text(schema, place)

    def _object(self, schema: Schema, place: plausible.FieldContext, depth: int) -> dict[str, Any]:
        required = set(cast("list[str]", schema.get("required", ())))
        named = cast("Mapping[str, Any]", schema.get("properties") or {})
        made: dict[str, Any] = {}
        for name, inner in named.items():
            wanted = name in required or (depth < 2 and not self.new)
            if not wanted or (depth >= _DEEPEST and name not in required):
                continue
            made[name] = self.value(
                inner, name, about=place.name, path=f"{place.path}.{name}", depth=depth + 1
            )
        for name in sorted(required - made.keys()):
            extra = schema.get("additionalProperties")
            made[name] = self.value(
                extra if isinstance(extra, Mapping) else {"type": "string"},
                name,
                about=place.name,
                path=f"{place.path}.{name}",
                depth=depth + 1,
            )
        return made

    def _array(self, schema: Schema, place: plausible.FieldContext, depth: int) -> list[Any]:
        first = cast("list[Any]", schema.get("prefixItems") or [])
        least = int(schema.get("minItems", 0))
        most = int(schema.get("maxItems", max(least, len(first), 3)))
        count = least if self.new or depth >= 2 else least + place.own.below(3, "count")
        count = min(max(count, min(len(first), most)), most, 1000)
        items = schema.get("items", {})
        made: list[Any] = []
        tries = 0
        while len(made) < count and tries < count * 8 + 8:
            inner = first[len(made)] if len(made) < len(first) else items
            one = self.value(
                inner,
                singular(place.name),
                about=place.name,
                path=f"{place.path}.{tries}",
                depth=depth + 1,
            )
            tries += 1
            if schema.get("uniqueItems") is True and any(same(one, other) for other in made):
                continue
            made.append(one)
        return made

    def _number(self, kind: str, schema: Schema, place: plausible.FieldContext) -> int | float:
        name = snake(place.name)
        if name == "id":
            # Not the key, so it says nothing; it only must not be another's.
            guess: float = 100_000_000 + place.own.below(900_000_000)
        elif self.new and not times.is_moment(name) and not name.endswith("_id"):
            guess = 0
        elif times.is_moment(name) and name not in ("time", "date"):
            example = self.moments.get(place.name)
            form = schema if types_of(schema) else {"type": kind}
            moment = self.clock_us if self.new else plausible.moment_us(place)
            shown = times.format_moment(moment, place.name, form, example)
            guess = shown if isinstance(shown, int | float) else 0
        else:
            guess = plausible.number(place)
        return _within(guess, schema, whole=kind == "integer")

    def _text(self, schema: Schema, place: plausible.FieldContext) -> str:
        style = schema.get("format")
        style = style if isinstance(style, str) else ""
        if self.new and (style in ("date", "date-time") or _is_stamp(place.name, style)):
            example = self.moments.get(place.name)
            guess = str(times.format_moment(self.clock_us, place.name, schema, example))
        elif self.new and snake(place.name) in ("status", "state"):
            guess = STATES[0]
        else:
            guess = plausible.text(place, style)
        return fitting_text(guess, schema, place.own)


def fitting_text(guess: str, schema: Schema, draw: SeededRandom) -> str:
    """`guess`, changed as little as is needed for `schema`."""
    least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
    pattern = schema.get("pattern")
    text = guess
    if isinstance(most, int) and len(text) > most:
        text = text[:most].rstrip() if len(text[:most].rstrip()) >= least else text[:most]
    while len(text) < min(least, 100_000):
        text = (text + " " + guess if guess.strip() else text + "x")[: max(least, 1)]
        text = text + "x" if text.endswith(" ") and len(text) < least else text
    if isinstance(pattern, str) and not pattern_fits(pattern, text):
        made = text_for(pattern, draw, least=least, most=most if isinstance(most, int) else None)
        if made is not None:
            return made
    return text


def _within(guess: float, schema: Schema, *, whole: bool) -> int | float:
    """`guess`, moved into the range that the schema gives."""
    least, most = _bound(schema, "minimum"), _bound(schema, "maximum")
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    step = _bound(schema, "multipleOf") or (Decimal(1) if whole else None)
    value = Decimal(str(guess))
    unit = step or Decimal("0.01")
    if above is not None:
        least = above + unit if least is None or least <= above else least
    if below is not None:
        most = below - unit if most is None or most >= below else most
    if least is not None and most is not None and least > most:
        least = most = (least + most) / 2
    if least is not None and value < least:
        value = least
    if most is not None and value > most:
        value = most
    if step:
        steps = value / step
        value = step * math.floor(steps)
        if least is not None and value < least:
            value += step
    if value == value.to_integral_value():
        return int(value)
    return int(value) if whole else float(value)


def _bound(schema: Schema, name: str) -> Decimal | None:
    value = schema.get(name)
    return None if isinstance(value, str) else number(value)


def _is_stamp(name: str, style: str) -> bool:
    return not style and snake(name) in times.MADE | times.CHANGED


LONGEST_REPETITION = 4096


def text_for(
    pattern: str, draw: SeededRandom, *, tries: int = 8, least: int = 0, most: int | None = None
) -> str | None:
    """A text of `least` to `most` characters that fits `pattern`; `None` when none was found in so
    many tries: a text of a look-ahead may fail."""
    if not is_pattern(pattern):
        # What is no pattern fits any text, and says nothing of what to write.
        return None
    written = _without_properties(in_python(pattern))
    for attempt in range(tries):
        try:
            text = _Writer(draw.derive("pattern", attempt), least).xeger(written)
        except (re.error, RecursionError, OverflowError, LookupError, ValueError):
            return None
        if pattern_fits(pattern, text) and (most is None or len(text) <= most):
            return text
    return None


_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]")
_PROPERTY = re.compile(r"\\p\{([LN])\w*\}")


def _without_properties(pattern: str) -> str:
    """With members of `\\p{L}` and `\\p{N}` in their place: Python knows no properties."""
    members = {"L": "a-z", "N": "0-9"}
    inside = _CLASS.sub(lambda found: _PROPERTY.sub(lambda one: members[one[1]], found[0]), pattern)
    return _PROPERTY.sub(lambda one: f"[{members[one[1]]}]", inside)


class _Writer(Rstr):
    """Writes short, plain texts, and the same ones in every process.

    As it is, rstr takes the members of `[^…]` in the order of a set, repeats up to a hundred times and
    takes `.` for any printable character.
    """

    def __init__(self, draw: SeededRandom, least: int) -> None:
        super().__init__(random.Random(draw.number("text")))
        self._least = least
        self._cases = {**self._cases, "any": self._any, "assert": self._nothing}

    def _any(self, _: Any) -> str:
        return self.lowercase(1)

    def _nothing(self, _: Any) -> str:
        return ""

    def _handle_in(self, value: Any) -> str:
        members = [one for state in value for one in self._handle_state(state)]
        if members[0] is False:
            held = set(members)
            members = [chr(code) for code in range(32, 127) if chr(code) not in held]
        plain = [one for one in members if one.isdigit() or ("a" <= one <= "z")]
        return self._random.choice(plain or members)

    def _handle_repeat(self, start_range: int, end_range: int, value: Any) -> str:
        if end_range > LONGEST_REPETITION:
            start_range = max(start_range, self._least, 1)
            end_range = start_range + 7
        else:
            end_range = min(end_range, max(start_range, self._least) + 12)
        return super()._handle_repeat(start_range, end_range, value)
