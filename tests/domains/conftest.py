"""What tests of every domain need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from agentworld_sim.checks import CheckInput, judge_all
from agentworld_sim.domains import domain
from agentworld_sim.types import FileTree, MemoryBlobs, StateChange, WorldState
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn

STATE = WorldState(files=FileTree({}), clock_us=0, seed=0)


@pytest.fixture
def refusals_of() -> Callable[..., dict[str, str]]:
    """Gives the domain's checks that refuse an imagined text, with their reasons."""

    def refusals(
        name: DomainName,
        text: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        tool: str = "tool",
        earlier: Sequence[str | tuple[str, Mapping[str, Any]]] = (),
        is_error: bool = False,
        output_schema: Mapping[str, Any] | None = None,
    ) -> dict[str, str]:
        spec = ToolSpec(name=tool, output_schema=output_schema)
        call = ToolCall(tool, arguments or {})
        kind = domain(name)
        history: list[Turn] = []
        for one in earlier:
            said, given = one if isinstance(one, tuple) else (one, arguments or {})
            before = ToolCall(tool, given)
            history.append(
                Turn(
                    parent="ref",
                    call=before,
                    action=kind.action(before, spec),
                    observation=Observation(text=said),
                    change=StateChange(clock_us=0),
                )
            )
        given_input = CheckInput(
            call=call,
            tool=spec,
            observation=Observation(text=text, is_error=is_error, provenance="imagined"),
            before=STATE,
            after=STATE,
            blobs=MemoryBlobs(),
            history=history,
        )
        verdicts = judge_all(kind.checks, given_input)
        return {one.check: one.reason for one in verdicts if not one.accepted}

    return refusals
