"""Agents of different quality: each follows a task's plan, and has one weakness, which shows in some of the tasks."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentworld_sim.bench.transfer.places import Place, PlaceAnswer
from agentworld_sim.bench.transfer.transfer_task import PlanStep, TransferTask, fill
from agentworld_sim.scenario.site_tasks import element_ref
from agentworld_sim.types.tools import ToolCall

WEAKNESS: Mapping[str, float] = {
    "perfect": 0.0,
    "forgets a step": 0.2,
    "wrong flags": 0.5,
    "random order": 0.65,
    "gives up early": 0.8,
    "reads nothing": 1.0,
}
"""The agents, and the share of the tasks in which each has its weakness."""


@dataclass(frozen=True, slots=True)
class Play:
    """What an agent did."""

    calls: tuple[ToolCall, ...]
    answers: tuple[PlaceAnswer, ...]
    finished: bool
    """Whether it says that it is done."""


async def play(agent: str, task: TransferTask, place: Place) -> Play:
    """Lets an agent do a task. The same agent does the same, if it is answered the same."""
    chance = random.Random(f"{agent} {task.name}")
    plan, weak = list(task.plan), chance.random() < WEAKNESS[agent]
    # What an agent has not read is empty.
    kept = {step.keep: "" for step in plan if step.keep}
    if weak and agent == "forgets a step":
        del plan[chance.randrange(len(plan))]
    elif weak and agent == "wrong flags":
        plan = [replace(step, arguments=step.careless or step.arguments) for step in plan]
    elif weak and agent == "random order":
        chance.shuffle(plan)
    elif weak and agent == "gives up early":
        plan = plan[: len(plan) // 2]
    elif weak and agent == "reads nothing":
        kept = {step.keep: step.invented for step in plan if step.keep}
        plan = [step for step in plan if not step.keep]
    calls: list[ToolCall] = []
    answers: list[PlaceAnswer] = []
    for step in plan:
        arguments = fill(step.arguments, kept)
        if "element" in arguments:
            # Of no element, an agent that has not looked names some other.
            seen = answers[-1].text if answers else ""
            arguments["target"] = element_ref(seen, arguments["element"]) or "e1"
        call = ToolCall(step.tool, arguments)
        answer = await place.call(call)
        if answer.accepted:
            calls.append(call)
            answers.append(answer)
        if step.keep:
            kept[step.keep] = _answer_part(step, answer.text)
    return Play(tuple(calls), tuple(answers), not (weak and agent == "gives up early"))


def _answer_part(step: PlanStep, text: str) -> str:
    found = re.search(step.pattern, text)
    return found[1] if found else text.strip()
