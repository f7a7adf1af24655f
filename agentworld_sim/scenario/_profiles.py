"""Profiles: named sets of controls, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class ControlProfile:
    """Several controls under one name. A key beside the name holds for each of them."""

    summary: str
    """What an agent meets, in a sentence."""
    controls: tuple[Mapping[str, Any], ...]
    """As a scenario writes them; the name of each is its kind, if it gives none."""
    signs: Mapping[str, str]
    """Patterns of what an agent was told that met it: of a `failure`, or of any `answer`."""


@cache
def control_profiles() -> Mapping[str, ControlProfile]:
    """The profiles by name."""
    import yaml

    text = files("agentworld_sim.scenario").joinpath("profiles.yaml").read_text("utf-8")
    read = cast("Mapping[str, Any]", yaml.safe_load(text))
    return {
        name: ControlProfile(one["summary"], tuple(one["controls"]), one.get("signs", {}))
        for name, one in read.items()
    }
