"""What a source of training data gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from agentworld_sim.engines.model_binding import bind_any
from agentworld_sim.ports import PromptContext
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Turn

Split = Literal["train", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrajectory:
    """One trajectory of a world, and all that a prompt or a check needs beside its turns."""

    id: str
    """Unique among the trajectories of a source, and the same whenever it is made again."""
    task: str
    """What train and test are disjoint by: a template or a scenario, not one run of it."""
    turns: tuple[Turn, ...]
    tools: Mapping[str, ToolSpec]
    """By name, as the world model is told of them; see `imagined_tools`."""
    prompt_context: PromptContext = field(default_factory=PromptContext)
    """What the scenario tells the model beside the calls."""
    before: WorldState | None = None
    """The state at the first turn; without it, checks judge predictions by the earlier turns alone."""
    blobs: Blobs | None = None
    """The contents of files in the state and in the turns' changes."""
    thinking: Mapping[int, str] = field(default_factory=dict[int, str])
    """By number of the turn, from 1: what to think before the answer. Goes before what a model thought
    when the turn was recorded."""
    split: Split | None = None
    """Which side the task is on; decided by a hash of its name where it is not said."""
    place: str = ""
    """Where it comes from, for messages: a file, a world."""


def imagined_tools(
    tools: Mapping[str, ToolSpec], turns: Iterable[Turn] = ()
) -> dict[str, ToolSpec]:
    """Tools as a world model is told of them.

    Where all turns were computed, every tool becomes what it would be if a model answered it: the
    shell's `bash` is then written as JSON, as its answers show output and no screen. Where a model
    answered some, the tools are what they were in that world; one that bound to nothing becomes a
    model's.

    Args:
        tools: The tools of a world as bound, by name.
    """
    imagined = {
        turn.call.name for turn in turns if turn.observation.provenance in ("imagined", "replayed")
    }
    told: dict[str, ToolSpec] = {}
    for name, tool in tools.items():
        unbound = tool.domain is None
        if imagined and not unbound and name not in imagined:
            told[name] = tool
            continue
        plain = replace(tool, binds_to=None) if unbound else tool
        told[name] = bind_any(plain) or replace(tool, domain="mcp")
    return told
