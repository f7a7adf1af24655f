"""Turn-level loss masking: turns per second in one process, and the literal transcription beside it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from agentworld_trainers.masking import MaskReport, MaskSettings, mask_turn
from benchmarks._rows import Row

MILLION = 1_000_000
TURNS = 40_000
ACTION_WORDS = 15
"""A call with two arguments: about 100 characters."""
OBSERVATION_WORDS = 120
"""A screen: about 700 characters."""
LIMIT_SECONDS = 300.0
"""\"Minutes\": five."""


def corpus() -> list[tuple[str, str]]:
    """Turns whose observations repeat some of their actions' words."""
    chance = random.Random(0)
    words = [f"word{number}" for number in range(2_000)]
    turns: list[tuple[str, str]] = []
    for _ in range(TURNS):
        action = chance.choices(words, k=ACTION_WORDS)
        said = chance.choices((*words, *action * 40), k=chance.randrange(1, 2 * OBSERVATION_WORDS))
        turns.append((" ".join(action), " ".join(said)))
    return turns


def transcribed(action: str, observation: str) -> tuple[float, float, float, float]:
    """The four statistics as they are written down, without regular expressions: one set operation per
    symbol, characters looked at one by one."""

    def words(text: str) -> set[str]:
        letters = (one if one.isalnum() or one == "_" else " " for one in text.lower())
        return set("".join(letters).split())

    a, o = words(action), words(observation)
    return (
        len(a & o) / len(a),
        len(o - a) / len(o),
        len(a & o) / len(a | o),
        len(observation) / len(action),
    )


def seconds_per_million(work: Callable[[str, str], object], turns: list[tuple[str, str]]) -> float:
    """How long a million such turns take."""
    start = time.perf_counter()
    for action, observation in turns:
        work(action, observation)
    return (time.perf_counter() - start) / len(turns) * MILLION


def rows() -> list[Row]:
    """All figures about masking."""
    settings = MaskSettings()
    report = MaskReport(settings)

    def masked(action: str, observation: str) -> None:
        report.add(action, observation, mask_turn(action, observation, settings))

    turns = corpus()
    ours = seconds_per_million(masked, turns)
    return [
        Row(
            "a million turns masked and reported, in one process",
            ours,
            unit="s",
            alternative="the statistics alone, transcribed literally",
            theirs=seconds_per_million(transcribed, turns),
            target=f"at most {LIMIT_SECONDS:.0f} s",
            met=ours <= LIMIT_SECONDS,
        )
    ]
