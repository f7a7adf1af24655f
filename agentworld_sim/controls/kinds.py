"""The kinds of control that a scenario can name."""

from __future__ import annotations

import dataclasses
from typing import cast

from agentworld_sim.controls._fault import Fault
from agentworld_sim.ports.controls import Control
from agentworld_sim.registry import Registry

BUILTIN_KINDS: dict[str, type[Control]] = {"fault": Fault}
"""Those of this library."""


def _control_class(value: object) -> type[Control]:
    if (
        isinstance(value, type)
        and dataclasses.is_dataclass(value)
        and Control in value.__mro__
        and any(field.name == "name" for field in dataclasses.fields(value))
    ):
        return cast("type[Control]", value)
    raise TypeError(f"{value!r} is not a dataclass that subclasses Control and has a field `name`")


control_kinds: Registry[type[Control]] = Registry(
    "agentworld.controls",
    what="kind of control",
    builtin=lambda: BUILTIN_KINDS,
    read=_control_class,
)
"""By name: dataclasses, whose fields are what a scenario says of one."""
