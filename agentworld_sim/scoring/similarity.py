"""How an observation compares with what the environment really said.

Deterministic content must be equal. Times of the run are the one exception: a time that stands nowhere
in the prompt cannot be known, so only its form and its range must be right, and where the truth says the
same time twice, so must the answer.
"""

from __future__ import annotations

import re
from collections import Counter

from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.turns import Observation

_MONTHS = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAYS = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TIME = re.compile(
    r"(?<!\d)(?:"
    # ISO 8601: 2026-03-04T05:06:07.891Z
    rf"\d{{4}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[T ]{_CLOCK}(?::[0-5]\d(?:\.\d+)?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?"
    # date(1): Wed Mar  4 05:06:07 UTC 2026
    rf"|{_DAYS} {_MONTHS} (?:[ 0][1-9]|[12]\d|3[01]) {_CLOCK}:[0-5]\d [A-Z]{{3,4}} \d{{4}}"
    # ls -l: Mar  4 05:06
    rf"|{_MONTHS} (?:[ 0][1-9]|[12]\d|3[01]) {_CLOCK}"
    # a clock: 05:06:07
    rf"|{_CLOCK}:[0-5]\d"
    r")(?!\d)"
)
_PIECE = re.compile(
    rf"(?P<padded>(?<=[a-z] )[ \d]\d(?= ))|(?P<digit>\d)|(?P<month>{_MONTHS})|(?P<day>{_DAYS})|."
)
_SHAPES = {"padded": r"[ \d]\d", "digit": r"\d", "month": _MONTHS, "day": _DAYS}
_WORD = re.compile(r"\w+|[^\w\s]")


def is_exact(answer: Observation, truth: Observation, known: str) -> bool:
    """Whether an answer is equal to the truth, times of the run aside.

    Args:
        answer: What was predicted.
        truth: What the environment said.
        known: The prompt: times that stand in it could be known and must be right.
    """
    if answer.is_error != truth.is_error:
        return False
    return _is_same_text(_observation_text(answer), _observation_text(truth), known)


def _observation_text(observation: Observation) -> str:
    """The one text of an observation: JSON in its canonical form where the tool promises JSON."""
    if observation.structured is not None:
        return canonical_json(observation.structured)
    return observation.text


def _is_same_text(answer: str, truth: str, known: str) -> bool:
    if answer == truth:
        return True
    names: dict[str, str] = {}
    pattern: list[str] = []
    end = 0
    for found in _TIME.finditer(truth):
        if found[0] in known:
            continue
        pattern.append(re.escape(truth[end : found.start()]))
        if found[0] in names:
            pattern.append(f"(?P={names[found[0]]})")
        else:
            name = names[found[0]] = f"time{len(names)}"
            pattern.append(f"(?P<{name}>{_shape(found[0])})")
        end = found.end()
    if not names:
        return False
    pattern.append(re.escape(truth[end:]))
    match = re.fullmatch("".join(pattern), answer)
    return match is not None and all(_TIME.fullmatch(one) for one in match.groups())


def _shape(time: str) -> str:
    """A pattern for times that are written alike."""
    return "".join(
        _SHAPES.get(found.lastgroup or "", re.escape(found[0])) for found in _PIECE.finditer(time)
    )


def agreement(answer: str, truth: str, before: str | None) -> float:
    """How much of the truth an answer tells beyond what stood on the screen before, in [0, 1].

    The overlap of words (F1 over the multisets of words and signs), as a skill score against the
    forecast that nothing changes: 0 for what is no better than a copy of the observation before.
    """
    reference = 0.0 if before is None else _overlap(before, truth)
    if reference == 1.0:
        return float(answer == truth)
    return max(0.0, (_overlap(answer, truth) - reference) / (1.0 - reference))


def _overlap(one: str, other: str) -> float:
    left, right = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    both = left.total() + right.total()
    return 1.0 if not both else 2.0 * (left & right).total() / both
