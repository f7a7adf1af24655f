"""Tasks that can be done in a world and outside of it, and the plan that solves each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

import yaml

from agentworld_sim.scenario import Scenario

Kind = Literal["shell", "mcp", "web"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One call of a plan. `@NAME@` in its arguments stands for what an earlier answer held."""

    tool: str
    arguments: Mapping[str, Any]
    keep: str = ""
    """The name under which its answer is kept."""
    pattern: str = r"(?s)\A(.*?)\s*\Z"
    """Where in the answer: the first group."""
    invented: str = ""
    """What an agent says that has not read the answer."""
    careless: Mapping[str, Any] | None = None
    """The arguments of an agent that gets flags and fields wrong."""


@dataclass(frozen=True, slots=True)
class TransferTask:
    """A scenario with goals, and the reference plan."""

    name: str
    family: str
    kind: Kind
    content_dependent: bool
    """Whether it cannot be solved without reading what is there."""
    document: Mapping[str, Any] = field(repr=False)
    plan: tuple[PlanStep, ...] = field(repr=False)

    @property
    def scenario(self) -> Scenario:
        """What a world is made of."""
        return Scenario.model_validate(self.document)


@cache
def shipped_document(name: str) -> Mapping[str, Any]:
    """What a YAML file beside this module says."""
    return yaml.safe_load(files("agentworld_sim.bench.transfer").joinpath(name).read_text("utf-8"))


_NAME = re.compile(r"@(\w+)@")


def put_in(written: Any, values: Mapping[str, Any]) -> Any:
    """A document with values for `@NAME@`: a text that is nothing else becomes the value. Other names stay."""
    if isinstance(written, Mapping):
        fields = cast("Mapping[str, Any]", written)
        return {name: put_in(one, values) for name, one in fields.items()}
    if isinstance(written, list):
        return [put_in(one, values) for one in cast("list[Any]", written)]
    if not isinstance(written, str):
        return written
    whole = _NAME.fullmatch(written)
    if whole and whole[1] in values:
        return values[whole[1]]
    return _NAME.sub(lambda name: str(values.get(name[1], name[0])), written)


def fill(arguments: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
    """Arguments with what was kept. A whole value that is a number becomes one."""
    number = re.compile(r"0|[1-9][0-9]{,17}")
    return put_in(
        arguments, {name: int(one) if number.fullmatch(one) else one for name, one in kept.items()}
    )
