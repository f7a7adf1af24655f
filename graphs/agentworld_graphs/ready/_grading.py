"""Predictions: how they are scored before a call, and graded after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from langchain_core.messages import ToolMessage
from typing_extensions import TypedDict

from agentworld_sim import Turn, World
from agentworld_sim.goals import check_goals

NO_ANSWER = -1000.0
"""The score of a call that cannot be answered at all."""

Scorer = Callable[[World, Sequence[Turn]], Awaitable[float]]
"""Says how good the end of a look-ahead is: the fork there, and the turns that led to it."""


class Prediction(TypedDict):
    """What a call was predicted to answer."""

    call: Mapping[str, Any]
    text: str
    is_error: bool
    refused: list[str]
    """Why checks refused answers that the model gave before this one."""
    score: float


class Grade(TypedDict):
    """How good a prediction was."""

    tool: str
    exact: bool
    similarity: float
    """Of the texts, between 0 and 1."""
    same_outcome: bool
    """Whether success or failure was foreseen."""
    passed_checks: bool
    """Whether no check refused an answer on the way to it."""


async def goals_then_errors(fork: World, turns: Sequence[Turn]) -> float:
    """A scorer: the scenario's goals that are met in the end, less the calls that failed."""
    met = sum(goal.met for goal in await check_goals(fork))
    return met + await fewest_errors(fork, turns)


async def fewest_errors(fork: World, turns: Sequence[Turn]) -> float:
    """A scorer for what is imagined, which changes no files that goals could be checked in."""
    return -float(sum(turn.observation.is_error for turn in turns))


def predicted(call: Any, seen: Turn | Exception, *, score: float = NO_ANSWER) -> Prediction:
    """The prediction of a call: its turn on the fork, or why there was none."""
    if isinstance(seen, Exception):
        return Prediction(
            call=call, text=str(seen), is_error=True, refused=[str(seen)], score=score
        )
    return Prediction(
        call=call,
        text=seen.observation.text,
        is_error=seen.observation.is_error,
        refused=[verdict.reason for verdict in seen.checks if not verdict.accepted],
        score=score,
    )


def grade(prediction: Prediction, answer: ToolMessage) -> Grade:
    """Holds a prediction against the answer that came."""
    # A model writes no newlines at the end.
    foreseen, came = prediction["text"].rstrip("\n"), str(answer.text).rstrip("\n")
    return Grade(
        tool=prediction["call"]["name"],
        exact=foreseen == came,
        similarity=SequenceMatcher(None, foreseen, came, autojunk=False).ratio(),
        same_outcome=prediction["is_error"] == (answer.status == "error"),
        passed_checks=not prediction["refused"],
    )


def means(grades: Sequence[Grade]) -> dict[str, Any]:
    """The grades of a whole run in one."""
    parts = ("exact", "similarity", "same_outcome", "passed_checks")
    count = len(grades)
    found = {part: sum(one[part] for one in grades) / count for part in parts} if count else {}
    return {"predictions": count, **found}
