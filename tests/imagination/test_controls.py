"""What a model is told of controls, and who may read along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from agentworld_sim import Answer, Control, Scenario, StepContext, ToolCall
from agentworld_sim.controls import Next
from agentworld_sim.errors import ControlFailure
from agentworld_sim.llm.scripted import ModelRequest, ScriptedReply
from tests.imagination.conftest import Open, always

CALL = ToolCall("weather", {"city": "Utrecht"})
COMMAND = '{"stdout": "", "stderr": "", "exit_code": 0, "operations": []}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Control):
    """Says what it is, and changes nothing."""

    name: str = "slow"
    text: str = "Every service is slow today."

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step)

    def describe(self) -> str:
        return self.text


class Overheard(Slow):
    allows_streaming: ClassVar[bool] = True


def systems(requests: Sequence[ModelRequest]) -> list[str]:
    return [str(request.messages[0]["content"]) for request in requests]


async def test_the_prompt_says_what_controls_describe_and_stays_the_same(imagining: Open) -> None:
    reply = always(ScriptedReply.observation("Sun."))
    plain = await imagining(reply)
    hindered = await imagining(reply, world={"controls": [Slow(), Slow(name="b", text="")]})
    for _ in range(2):
        await plain.world.step(CALL)
        await hindered.world.step(CALL)
    (one, same), (other, again) = systems(plain.server.requests), systems(hindered.server.requests)
    assert (one, other) == (same, again)
    part = "\n\n# Simulation Instruction\n\nEvery service is slow today."
    assert part in other
    assert other.replace(part, "") == one


async def test_it_stands_below_the_scenarios_own_instruction(imagining: Open) -> None:
    scenario = Scenario.model_validate(
        {"name": "x", "domains": ["mcp"], "model": {"instruction": "It is Monday."}}
    )
    opened = await imagining(
        always(ScriptedReply.observation("Sun.")), scenario=scenario, world={"controls": [Slow()]}
    )
    await opened.world.step(CALL)
    (system,) = systems(opened.server.requests)
    assert system.endswith(
        "# Simulation Instruction\n\nIt is Monday.\nEvery service is slow today."
    )


async def test_a_command_in_the_middle_of_a_script_is_imagined_with_it_too(imagining: Open) -> None:
    opened = await imagining(always(COMMAND), world={"controls": [Slow()]})
    await opened.world.step(ToolCall("bash", {"command": "kubectl get pods"}))
    (system,) = systems(opened.server.requests)
    assert system.endswith("# Simulation instruction\n\nEvery service is slow today.")


@pytest.mark.parametrize(("control", "heard"), [(Slow(), False), (Overheard(), True)])
async def test_who_reads_along_does_so_only_where_every_control_allows_it(
    imagining: Open, control: Any, heard: bool
) -> None:
    opened = await imagining(
        always(ScriptedReply.observation("In Utrecht.", thinking="Hm.")),
        world={"controls": [control]},
    )
    deltas: list[str] = []
    turn = await opened.world.step(CALL, on_delta=deltas.append)
    assert ("".join(deltas) == turn.observation.text) == heard
    assert bool(deltas) == heard


class AsksTwice(Slow):
    """Gives the second of two answers."""

    async def handle(self, step: StepContext, next: Next) -> Answer:
        await next(step)
        return await next(replace(step, seed=step.seed + 1))


async def test_an_answer_that_a_control_does_not_use_is_on_the_turn_as_paid_for(
    imagining: Open,
) -> None:
    replies = [ScriptedReply.observation("Sun."), ScriptedReply.observation("Rain.")]
    opened = await imagining(replies, world={"controls": [AsksTwice(text="")]})
    turn = await opened.world.step(CALL)
    assert turn.observation.text == "Rain."
    assert (len(turn.exchanges), len(opened.server.requests)) == (2, 2)


class Fails(Slow):
    """Fails when the answer is there."""

    async def handle(self, step: StepContext, next: Next) -> Answer:
        await next(step)
        raise RuntimeError("no")


async def test_what_a_model_was_asked_is_kept_where_a_control_failed_afterwards(
    imagining: Open,
) -> None:
    reply = always(ScriptedReply.observation("Sun."))
    opened = await imagining(reply, world={"controls": [Fails()]})
    with pytest.raises(ControlFailure, match="'slow'"):
        await opened.world.step(CALL)
    (failed,) = await opened.world.failures()
    assert len(failed.exchanges) == 1
