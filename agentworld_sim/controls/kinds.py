"""The kinds of control that a scenario can name."""

from __future__ import annotations

import dataclasses
from typing import cast

from agentworld_sim.controls._base import Control
from agentworld_sim.controls._fault import Fault
from agentworld_sim.registry import Registry

BUILTIN_KINDS: dict[str, type[Control]] = {"fault": Fault}
"""Those of this library."""


def _control_class(value: object) -> type[Control]:
    if (
        isinstance(value, type)
        and dataclasses.is_dataclass(value)
        and callable(getattr(value, "handle", None))
        and any(field.name == "name" for field in dataclasses.fields(value))
    ):
        return cast("type[Control]", value)
    raise TypeError(f"{value!r} is not a dataclass with a field `name` and a method `handle`")


control_kinds: Registry[type[Control]] = Registry(
    "agentworld.controls",
    what="kind of control",
    builtin=lambda: BUILTIN_KINDS,
    read=_control_class,
)
"""By name: dataclasses, whose fields are what a scenario says of one."""
