"""Making a value fit a schema: what is missing is filled in, what is forbidden is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.table._generate import Maker, fitting_text
from agentworld_sim.engines.table._matching import number, same
from agentworld_sim.engines.table._paths import MISSING
from agentworld_sim.engines.table.json_schemas import (
    Schema,
    alternative_types,
    alternatives,
    not_null,
    nullable,
    resolved,
    types_of,
)

Known = Callable[[str, set[str], str], Any]
"""Gives what a missing field is known to be: its name, its types, its place; or `MISSING`."""

_DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits values. What a record says stays as it is wherever it may."""

    maker: Maker
    roots: Sequence[Schema]
    known: Known
    strict: bool = False
    """Whether also values that are out of range, or none of those listed, give way."""

    def fitted(self, value: Any, schema: Any, path: str = "", name: str = "") -> Any:
        """`value` as `schema` wants it."""
        own = resolved(schema, self.roots)
        depth = path.count(".") + path.count("[")
        if depth > _DEEPEST:
            return value
        if value is None:
            return None if nullable(own, self.roots) or not own else self._filled(own, path, name)
        kinds = alternative_types(own, self.roots)
        choices = alternatives(own)
        if choices:
            own = self._nearest(value, choices, own)
            kinds = set(types_of(own))
        if self.strict and not _is_listed(value, own):
            return self.maker.value(own, name or "value", path=path)
        if isinstance(value, dict) and ("object" in kinds or not kinds):
            return self._object(cast("dict[str, Any]", value), own, path)
        if isinstance(value, list) and ("array" in kinds or not kinds):
            return self._array(cast("list[Any]", value), own, path, name)
        if not kinds or _type(value) in kinds or (_type(value) == "integer" and "number" in kinds):
            return self._scalar(value, own, path, name)
        return self._converted(value, own, kinds, path, name)

    def _nearest(self, value: Any, choices: Sequence[Any], own: Schema) -> Schema:
        """The alternative that fits the value best."""
        rest = {key: one for key, one in own.items() if key not in ("anyOf", "oneOf")}
        options: list[Schema] = [{**rest, **resolved(choice, self.roots)} for choice in choices]

        def score(option: Schema) -> int:
            inner = not_null(option, self.roots) if alternatives(option) else option
            kinds = set(types_of(inner))
            fits = _type(value) in kinds or (_type(value) == "integer" and "number" in kinds)
            points = 100 * fits + 50 * (not kinds)
            if fits and isinstance(value, dict):
                mine = set(cast("dict[str, Any]", value))
                named = set(cast("Mapping[str, Any]", inner.get("properties") or {}))
                needed = set(cast("list[str]", inner.get("required") or ()))
                points += len(mine & named) - 2 * len(needed - mine)
                constants = cast("Mapping[str, Any]", inner.get("properties") or {})
                for key in mine & named:
                    listed = _is_listed(cast("dict[str, Any]", value)[key], constants[key])
                    points -= 0 if listed else 20
            return points + (10 if _is_listed(value, inner) else 0)

        best = max(options, key=score)
        return not_null(best, self.roots) if alternatives(best) else best

    def _object(self, value: dict[str, Any], own: Schema, path: str) -> dict[str, Any]:
        named = cast("Mapping[str, Any]", own.get("properties") or {})
        # A server whose answers are described field by field sends no others.
        others = own.get("additionalProperties", not named)
        fitted: dict[str, Any] = {}
        for key, one in value.items():
            place = f"{path}.{key}"
            if key in named:
                if one is None and not nullable(named[key], self.roots):
                    # Left out where it may be, and otherwise filled in below.
                    continue
                fitted[key] = self.fitted(one, named[key], place, key)
            elif others is not False:
                fitted[key] = self.fitted(one, others, place, key)
        for key in cast("list[str]", own.get("required") or ()):
            if key not in fitted:
                inner = named.get(key, others if isinstance(others, Mapping) else {})
                fitted[key] = self._filled(inner, f"{path}.{key}", key)
        return fitted

    def _array(self, value: list[Any], own: Schema, path: str, name: str) -> list[Any]:
        first = cast("list[Any]", own.get("prefixItems") or [])
        items = own.get("items", {})
        fitted = [
            self.fitted(
                one, first[place] if place < len(first) else items, f"{path}[{place}]", name
            )
            for place, one in enumerate(value)
        ]
        if self.strict:
            if own.get("uniqueItems") is True:
                fitted = [
                    one
                    for place, one in enumerate(fitted)
                    if not any(same(one, other) for other in fitted[:place])
                ]
            most = own.get("maxItems")
            if isinstance(most, int):
                fitted = fitted[:most]
            least = own.get("minItems")
            while isinstance(least, int) and len(fitted) < min(least, 1000):
                fitted.append(self.maker.value(items, name, path=f"{path}[{len(fitted)}]"))
        return fitted

    def _scalar(self, value: Any, own: Schema, path: str, name: str) -> Any:
        if not self.strict:
            return value
        if isinstance(value, str):
            style = own.get("format")
            made = fitting_text(value, own, self.maker.draw.at(path))
            return made if style is None or made == value else self._filled(own, path, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self.maker.number_within(value, own)
        return value

    def _converted(self, value: Any, own: Schema, kinds: set[str], path: str, name: str) -> Any:
        """A value of another type that says the same, as far as there is one."""
        if "string" in kinds:
            if isinstance(value, dict | list):
                return json.dumps(value, ensure_ascii=False, indent=2)
            return json.dumps(value) if isinstance(value, bool) else str(value)
        if kinds & {"integer", "number"} and (found := number(value)) is not None:
            if found == found.to_integral_value() and abs(found) < 10**300:
                return int(found)
            if "number" in kinds:
                return float(found)
        if "boolean" in kinds and isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if "array" in kinds:
            return self._array([value], own, path, name)
        if "object" in kinds:
            return self._wrapped(value, own, path)
        return self._filled(own, path, name)

    def _wrapped(self, value: Any, own: Schema, path: str) -> dict[str, Any]:
        """An object around a value: in the first property of its type."""
        named = cast("Mapping[str, Any]", own.get("properties") or {})
        for key, inner in named.items():
            kinds = alternative_types(inner, self.roots)
            if _type(value) in kinds or (_type(value) == "integer" and "number" in kinds):
                return self._object({key: value}, own, path)
        return self._object({}, own, path)

    def _filled(self, schema: Any, path: str, name: str) -> Any:
        """A value where there is none."""
        own = resolved(schema, self.roots)
        kinds = alternative_types(own, self.roots)
        known = self.known(name, kinds, path.lstrip("."))
        if known is not MISSING and known is not None and _says_the_same(known, kinds):
            return self.fitted(known, own, path, name)
        shallow = path.count(".") + path.count("[") <= _DEEPEST
        if "object" in kinds and "null" not in kinds and shallow:
            return self._object({}, not_null(own, self.roots), path)
        return self.maker.value(own, name or "value", path=path.lstrip("."))


def _says_the_same(value: Any, kinds: set[str]) -> bool:
    """Whether a value can be said in one of these types."""
    if _type(value) in kinds or not kinds or "string" in kinds:
        return True
    found = number(value) if "number" in kinds else None
    return found is not None and abs(found) < 10**300


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _is_listed(value: Any, schema: Any) -> bool:
    """Whether the value is among those that the schema lists, if it lists any."""
    if not isinstance(schema, Mapping):
        return True
    held = cast("Schema", schema)
    if "const" in held:
        return same(held["const"], value)
    listed = held.get("enum")
    return not isinstance(listed, list) or any(
        same(one, value) for one in cast("list[Any]", listed)
    )
