"""What came in, what was left out at each step, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from agentworld_sim.plain_text import text_table

Step = Literal[
    "read twice",
    "too few turns",
    "undeclared tool",
    "broken screen",
    "no target",
    "enforced by a control",
    "failed and tried again",
    "no visible effect",
    "silent",
    "equal to an earlier one",
    "nearly equal to an earlier one",
]
STEPS: tuple[Step, ...] = get_args(Step)

WHY: Mapping[Step, str] = {
    "read twice": "trajectories that stand in the input more than once",
    "too few turns": "trajectories with fewer turns than `min_turns`",
    "undeclared tool": "trajectories that call a tool which is not declared (a store knows the tools of"
    " its scenarios; others are named by data.settings.tools)",
    "broken screen": "trajectories of a screen with a state that is empty or not whole",
    "no target": "turns without an observation to predict",
    "enforced by a control": "turns whose answer a control gave or changed",
    "failed and tried again": "calls that failed and were made again, and the call that followed",
    "no visible effect": "turns that left a screen as it was",
    "silent": "turns in which nothing was said",
    "equal to an earlier one": "samples that are equal to an earlier one",
    "nearly equal to an earlier one": "samples nearly equal to an earlier one",
}
"""What each step leaves out. Turns that are left out stay in the conversations of later ones."""

EXAMPLES = 3
SHOWN_CHARACTERS = 200


@dataclass(slots=True)
class _DropCount:
    trajectories: int = 0
    samples: int = 0
    examples: list[str] = field(default_factory=list[str])


class FilterCounts:
    """Counts what is left out."""

    def __init__(self) -> None:
        self.trajectories = 0
        """Read, in all."""
        self.samples = 0
        """In them."""
        self.notes: Counter[str] = Counter()
        """Counts of what was kept all the same, by what is remarkable about it."""
        self._dropped: dict[Step, _DropCount] = {step: _DropCount() for step in STEPS}

    def read(self, samples: int) -> None:
        """Counts a trajectory that came in."""
        self.trajectories += 1
        self.samples += samples

    def drop(self, step: Step, example: str, *, samples: int = 1, trajectories: int = 0) -> None:
        """Counts what a step left out."""
        dropped = self._dropped[step]
        dropped.samples += samples
        dropped.trajectories += trajectories
        if len(dropped.examples) < EXAMPLES:
            dropped.examples.append(example[:SHOWN_CHARACTERS])

    def to_json(self) -> dict[str, Any]:
        """All counts; `samples_left` and `trajectories_left` are what a step let pass."""
        trajectories, samples = self.trajectories, self.samples
        steps: list[dict[str, Any]] = []
        for step, dropped in self._dropped.items():
            trajectories -= dropped.trajectories
            samples -= dropped.samples
            steps.append(
                {
                    "step": step,
                    "leaves_out": WHY[step],
                    "trajectories": dropped.trajectories,
                    "samples": dropped.samples,
                    "trajectories_left": trajectories,
                    "samples_left": samples,
                    "examples": dropped.examples,
                }
            )
        return {
            "trajectories": self.trajectories,
            "samples": self.samples,
            "steps": steps,
            "notes": dict(sorted(self.notes.items())),
        }


def counts_table(counts: Mapping[str, Any]) -> str:
    """The JSON of counts as a table for people."""
    heads = ("step", "trajectories out", "samples out", "trajectories left", "samples left")
    rows = [("read", "", "", f"{counts['trajectories']:,}", f"{counts['samples']:,}")]
    rows += [
        (
            step["step"],
            *(f"{step[key]:,}" for key in ("trajectories", "samples")),
            *(f"{step[key]:,}" for key in ("trajectories_left", "samples_left")),
        )
        for step in counts["steps"]
    ]
    rows += [
        (f"written: {name}", "", "", "", f"{n:,}") for name, n in counts.get("rows", {}).items()
    ]
    lines = text_table([heads, *rows], numbers=True)
    lines += [f"{count:,} {what}" for what, count in counts["notes"].items()]
    for step in counts["steps"]:
        lines += [f"left out ({step['step']}): {example}" for example in step["examples"]]
    return "\n".join(lines) + "\n"
