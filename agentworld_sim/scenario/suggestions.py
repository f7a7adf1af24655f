"""Which profile an agent should be tried under, by what its trajectories show: rules over calls and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.scenario._profiles import control_profiles
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation

MORE = re.compile(
    r'"(?:next_page|next_cursor|nextCursor|next_token)"\s*:\s*(?!null|"")|"has_more"\s*:\s*true'
    r"|\bpage (\d+) of (?!\1\b)\d+",
    re.IGNORECASE,
)
"""An answer that is one page of several."""

PAGES = re.compile(r"page|cursor|offset|token|start|skip", re.IGNORECASE)
"""Arguments that ask for another page."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A profile, and the calls that speak for it."""

    profile: str
    evidence: tuple[str, ...]
    """A line for each: which call of which trajectory, what it shows, and what the agent did then."""


def suggest_profiles(
    trajectories: Mapping[str, Sequence[tuple[ToolCall, Observation]]],
) -> list[Suggestion]:
    """The profiles under which agents like these should be tried, the one with most evidence first.

    Args:
        trajectories: By name: each call with its answer, in order.
    """
    found: dict[str, list[str]] = {}
    for name, calls in trajectories.items():
        for number, (call, _) in enumerate(calls):
            where = f"{name}, call {number + 1} ({call.name})"
            for profile, shows in _signs(calls, number):
                line = f"{where}: {shows}{_aftermath(calls, number)}"
                found.setdefault(profile, []).append(line)
    ranked = sorted(found.items(), key=lambda one: -len(one[1]))
    return [Suggestion(profile, tuple(lines)) for profile, lines in ranked]


def _signs(calls: Sequence[tuple[ToolCall, Observation]], number: int) -> Iterator[tuple[str, str]]:
    """The profiles that one call speaks for, and what of it does."""
    call, observation = calls[number]
    text = observation.text
    failed = observation.is_error or len(text) < 400
    for sign in ("failure", "answer") if failed else ("answer",):
        for profile, one in control_profiles().items():
            pattern = one.signs.get(sign)
            if pattern and (said := re.search(pattern, text, re.IGNORECASE)):
                yield profile, f"it was told {_line_around(text, said)!r}"
                break
    later = [one for one, _ in calls[number + 1 :] if one.name == call.name]
    if MORE.search(text) and not any(
        map(PAGES.search, (key for one in later for key in one.arguments))
    ):
        yield "paginated-api", "the answer is one page of several, and no call asked for another"
    for name, value in call.arguments.items():
        wanted = len(cast("list[Any]", value)) if isinstance(value, list) else 0
        part = re.search(rf"\b(\d+) (?:of|out of|/) {wanted}\b", text) if wanted > 1 else None
        if part and int(part[1]) < wanted:
            yield "partial-batches", f"{part[0]} of `{name}` were done"
    before, seen = calls[number - 1] if number else (None, observation)
    fine = not (observation.is_error or seen.is_error)
    if before and fine and _same(before, call) and seen.text != text:
        yield "eventual-consistency", "the same call was answered otherwise right before"


def _aftermath(calls: Sequence[tuple[ToolCall, Observation]], number: int) -> str:
    """What the agent did after a call."""
    call, later = calls[number][0], calls[number + 1 :]
    if not later:
        return "; it made no further call"
    again = 0
    while again < len(later) and _same(later[again][0], call):
        again += 1
    if again:
        return f"; it made the same call again, {again} time{'s' * (again > 1)} at once"
    return f"; it went on with {later[0][0].name}"


def _same(one: ToolCall, other: ToolCall) -> bool:
    return (one.name, one.arguments) == (other.name, other.arguments)


def _line_around(text: str, said: re.Match[str]) -> str:
    start = text.rfind("\n", 0, said.start()) + 1
    line = text[start:].partition("\n")[0]
    return line if len(line) <= 100 else f"{said[0]}"
