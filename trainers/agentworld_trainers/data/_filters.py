"""Which trajectories, and which of their turns, are trained on.

The filters are those of Qwen-AgentWorld's report (arXiv 2606.24597). Where it leaves a word open, the
reading here is: a call failed when its tool said so, by its flag or in words; it was tried again when
the next call is the same one; a screen is broken when it is empty or breaks the rules of its domain's
form; a turn had an effect when the screen differs in more than blanks and element references. What is
left out of the targets stays in the conversation, so that the state it left is told to later turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agentworld_sim.checks import CheckInput
from agentworld_sim.domains import domain
from agentworld_sim.errors import UsageError
from agentworld_sim.types.files import FileTree, MemoryBlobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import DomainName, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Turn
from agentworld_trainers.data._filter_counts import FilterCounts, Step
from agentworld_trainers.data._prepared_trajectory import SCREENS, PreparedTrajectory, PreparedTurn
from agentworld_trainers.data._rows import Document
from agentworld_trainers.recipes.schema import DataPart

_REFERENCE = re.compile(r"\[ref=\w+\]|\[active\]|\[cursor=\w+\]")
_SECTIONS = re.compile(r"(?ms)^### (?:Page|Snapshot)\b.*?(?=^### |\Z)")
"""The sections of a Playwright answer that show the page. The others tell what was run."""


def filter_trajectory(
    prepared: PreparedTrajectory, settings: DataPart, counts: FilterCounts
) -> PreparedTrajectory | None:
    """The trajectory with only those samples that are trained on; `None` when all of it is left out.

    The fractions of its documents are 0 for turns that are no target.

    Raises:
        UsageError: a row has no target, and the recipe refuses such.
    """
    why = _whole(prepared, settings)
    if why is not None:
        step, what = why
        example = f"{prepared.place or prepared.id}: {what}"
        counts.drop(step, example, samples=prepared.samples, trajectories=1)
        return None
    turns: list[PreparedTurn] = []
    steps: list[Step | None] = [
        _turn_step(prepared, index, settings) for index in range(len(prepared.turns))
    ]
    for turn, step in zip(prepared.turns, steps, strict=True):
        if step is not None and turn.sample is not None:
            example = f"{prepared.place or prepared.id}, turn {turn.number}: {turn.call.name}"
            if step == "no target" and settings.without_target == "refuse":
                raise UsageError(
                    f"{example}: there is no observation to predict, and the recipe refuses such"
                    " rows. Give them a `response`, or set data.without_target = 'leave-out'."
                )
            counts.drop(step, example)
        turns.append(turn if step is None else replace(turn, sample=None))
    documents = tuple(_mask_steps(one, prepared.turns, steps) for one in prepared.documents)
    return replace(prepared, turns=tuple(turns), documents=documents)


def _whole(prepared: PreparedTrajectory, settings: DataPart) -> tuple[Step, str] | None:
    """Why a whole trajectory is left out."""
    if len(prepared.turns) < settings.min_turns:
        return "too few turns", f"{len(prepared.turns)} turns"
    for turn in prepared.turns:
        if turn.domain is None:
            return "undeclared tool", f"turn {turn.number} calls {turn.call.name!r}"
    seen: dict[str, list[Turn]] = {}
    for turn in prepared.turns:
        if turn.domain not in SCREENS or turn.observation is None or turn.failed:
            continue
        history = seen.setdefault(turn.domain, [])
        broken = _screen_problem(turn, turn.observation, turn.domain, history)
        if broken is not None:
            return "broken screen", f"turn {turn.number}: {broken}"
        history.append(_as_turn(turn))
    return None


def _turn_step(prepared: PreparedTrajectory, index: int, settings: DataPart) -> Step | None:
    """At which step a turn is left out of the targets."""
    turn = prepared.turns[index]
    if turn.observation is None or (not turn.observation.strip() and not prepared.recorded):
        return "no target"
    if turn.enforced:
        return "enforced by a control"
    if _is_tried_again(prepared, index) or (index and _is_tried_again(prepared, index - 1)):
        return "failed and tried again"
    if turn.domain in SCREENS and turn.before is not None and not _differs(turn):
        return "no visible effect"
    if settings.silent_turns == "leave-out" and not turn.observation.strip():
        return "silent"
    return None


def _mask_steps(
    document: Document, turns: Sequence[PreparedTurn], steps: Sequence[Step | None]
) -> Document:
    """The document, with nothing kept of the turns that a step leaves out."""
    own = [step for turn, step in zip(turns, steps, strict=True) if turn.domain == document.domain]
    keep = [
        fraction if step is None else 0.0
        for fraction, step in zip(document.keep, own, strict=False)
    ]
    return replace(document, keep=tuple(keep))


def _is_tried_again(prepared: PreparedTrajectory, index: int) -> bool:
    turns = prepared.turns
    return (
        index + 1 < len(turns)
        and turns[index].failed
        and turns[index].call.name == turns[index + 1].call.name
        and turns[index].call.arguments == turns[index + 1].call.arguments
    )


def _differs(turn: PreparedTurn) -> bool:
    return _state(turn.before or "") != _state(turn.observation or "")


def _state(text: str) -> str:
    """What is shown of a screen."""
    shown = "".join(_SECTIONS.findall(text)) or text
    return " ".join(_REFERENCE.sub("", shown).split())


def _screen_problem(
    turn: PreparedTurn, screen: str, name: DomainName, history: Sequence[Turn]
) -> str | None:
    """How the screen after a turn is broken."""
    if not screen.strip():
        return "the screen is empty"
    state = WorldState(files=FileTree({}), clock_us=0, seed=0)
    observation = Observation(text=screen, provenance="imagined")
    tool = ToolSpec(name=turn.call.name, domain=name)
    given = CheckInput(turn.call, tool, observation, state, state, MemoryBlobs(), history)
    reasons = (check.judge(given) for check in domain(name).checks)
    return next((reason for reason in reasons if reason is not None), None)


def _as_turn(turn: PreparedTurn) -> Turn:
    return Turn(
        parent="",
        call=turn.call,
        action=Action(""),
        observation=Observation(text=turn.observation or ""),
        change=StateChange(clock_us=0),
    )
