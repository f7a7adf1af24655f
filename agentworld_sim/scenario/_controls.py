"""Controls as data: what a scenario says of one, and the control that it means."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, cast, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, GetJsonSchemaHandler, create_model, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agentworld_sim.controls import Control, control_kinds
from agentworld_sim.controls.kinds import BUILTIN_KINDS
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.scenario._types import KeyedProblems, Strict


class ControlSpec(Strict):
    """A perturbation that is enforced in code. Its other keys belong to its kind."""

    model_config = ConfigDict(extra="allow")

    kind: str
    """What it does."""

    @model_validator(mode="after")
    def _check(self) -> ControlSpec:
        self.to_control()
        return self

    @property
    def name(self) -> str:
        """Its own among the scenario's controls."""
        return self.to_control().name

    def to_control(self) -> Control:
        """The control that it means."""
        try:
            kind = control_kinds.get(self.kind)
        except UsageError as error:
            raise KeyedProblems([(("kind",), f"{error}")]) from error
        said = dict(self.model_extra or {})
        model, local = _model_of(kind)
        problems = {
            key: _PROCESS_LOCAL.format(key)
            if key in local or callable(value)
            else _unknown(key, model)
            for key, value in said.items()
            if key not in model.model_fields or callable(value)
        }
        if problems:
            raise KeyedProblems(((key,), message) for key, message in problems.items())
        # As JSON: a list is right where the kind has a tuple.
        read = model.model_validate_json(json.dumps(said))
        try:
            return kind(**{name: getattr(read, name) for name in model.model_fields})
        except (UsageError, ValueError) as error:
            raise KeyedProblems([((), f"{error}")]) from error

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        schema["allOf"] = [
            {
                "if": {"properties": {"kind": {"const": name}}},
                "then": {
                    key: value
                    for key, value in _model_of(kind)[0].model_json_schema().items()
                    if key in ("properties", "required")
                },
            }
            for name, kind in BUILTIN_KINDS.items()
        ]
        return schema


def declared_controls(written: Iterable[Mapping[str, Any]]) -> list[Control]:
    """The controls that a scenario, or a world's state, declares."""
    return [ControlSpec.model_validate(one).to_control() for one in written]


_PROCESS_LOCAL = (
    "a Python function belongs to one process, and a scenario is data. Give a control that has one to"
    " World.create(controls=[…]); without it, remove `{}`."
)


def _unknown(key: str, model: type[Strict]) -> str:
    known = sorted(["kind", *model.model_fields])
    hint = nearest(key, known) or " Remove it or correct its name."
    return f"unknown key.{hint} Known keys: {', '.join(known)}."


@cache
def _model_of(kind: type[Control]) -> tuple[type[Strict], frozenset[str]]:
    """What reads the fields of a kind that are data, and the names of the others."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {}
    local: set[str] = set()
    for field in dataclasses.fields(cast("Any", kind)):
        if _callable(hints[field.name]):
            local.add(field.name)
        elif field.default_factory is not dataclasses.MISSING:
            fields[field.name] = hints[field.name], field.default_factory()
        else:
            default = ... if field.default is dataclasses.MISSING else field.default
            fields[field.name] = hints[field.name], default
    return create_model(kind.__name__, __base__=Strict, **fields), frozenset(local)


def _callable(hint: object) -> bool:
    return get_origin(hint) is Callable or any(map(_callable, get_args(hint)))


__all__ = ["ControlSpec", "declared_controls"]
