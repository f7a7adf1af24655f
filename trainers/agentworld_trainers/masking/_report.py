"""What masking does to a corpus: shares of turns and characters, with examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from typing import Any
from zlib import crc32

from agentworld_sim.report import Markup, page, tag
from agentworld_trainers.masking._mask import CATEGORIES, Category, MaskSettings, TurnMask

EXAMPLES = 3
"""Of each category."""

SHOWN_CHARACTERS = 600
"""Of an example's action and observation."""

_Example = tuple[int, str, str, str, TurnMask]


@dataclass(slots=True)
class _Count:
    turns: int = 0
    characters: int = 0
    kept: float = 0.0
    examples: list[_Example] = field(default_factory=list[_Example])
    """Those with the lowest checksums: a choice that does not depend on the order of the turns."""


class MaskReport:
    """Counts turns as they are masked."""

    def __init__(self, settings: MaskSettings) -> None:
        """
        Args:
            settings: What the turns were masked by.
        """
        self._settings = settings
        self._counts: dict[Category, _Count] = {name: _Count() for name in CATEGORIES}

    def add(self, action: str, observation: str, mask: TurnMask, place: str = "") -> None:
        """Counts a turn.

        Args:
            action: What was asked.
            observation: What was said.
            mask: What was found about it.
            place: Where it stands, for people.
        """
        count = self._counts[mask.category]
        count.turns += 1
        count.characters += len(observation)
        count.kept += len(observation) * mask.keep
        checksum = -crc32(f"{action}\n{observation}".encode("utf-8", "surrogatepass"))
        if len(count.examples) == EXAMPLES and checksum <= count.examples[0][0]:
            return
        shown = (action[:SHOWN_CHARACTERS], observation[:SHOWN_CHARACTERS], place)
        if any((checksum, *shown[:2]) == one[:3] for one in count.examples):
            return
        push = heappush if len(count.examples) < EXAMPLES else heapreplace
        push(count.examples, (checksum, *shown, mask))

    def to_json(self) -> dict[str, Any]:
        """Settings, totals, and per category shares and examples."""
        turns = sum(one.turns for one in self._counts.values())
        characters = sum(one.characters for one in self._counts.values())
        kept = sum(one.kept for one in self._counts.values())
        return {
            "settings": self._settings.model_dump(mode="json"),
            "turns": turns,
            "characters": characters,
            "kept_characters_share": _share(kept, characters),
            "categories": {
                name: {
                    "keep": self._settings.keep[name],
                    "turns": count.turns,
                    "turns_share": _share(count.turns, turns),
                    "characters": count.characters,
                    "characters_share": _share(count.characters, characters),
                    "examples": [_example(one) for one in sorted(count.examples, reverse=True)],
                }
                for name, count in self._counts.items()
            },
        }

    def to_html(self) -> str:
        """The same as one page."""
        report = self.to_json()
        categories: dict[str, dict[str, Any]] = report["categories"]
        heads = ("category", "kept in the loss", "turns", "share", "characters", "share")
        table = tag(
            "table",
            tag("tr", [tag("th", head) for head in heads]),
            [tag("tr", [tag("td", cell) for cell in _cells(*one)]) for one in categories.items()],
        )
        total = (
            f"{report['turns']:,} turns with {report['characters']:,} characters of observations, of"
            f" which {report['kept_characters_share']:.1%} stay in the loss."
        )
        examples = [_section(name, one["examples"]) for name, one in categories.items()]
        return page("Turn-level loss masking", tag("p", total), table, examples)


def _cells(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    return (
        name,
        f"{one['keep']:.0%}",
        f"{one['turns']:,}",
        f"{one['turns_share']:.1%}",
        f"{one['characters']:,}",
        f"{one['characters_share']:.1%}",
    )


def _section(name: str, examples: list[dict[str, Any]]) -> Markup | str:
    if not examples:
        return ""
    shown = [
        (
            tag(
                "p",
                f"{one['place']}: overlap {one['overlap']:.2f}, novelty {one['novelty']:.2f},"
                f" Jaccard {one['jaccard']:.2f}, ratio {one['ratio']:.2f}",
            ),
            tag("pre", one["action"]),
            tag("pre", one["observation"]),
        )
        for one in examples
    ]
    return tag("section", tag("h2", name), shown)


def _example(one: _Example) -> dict[str, Any]:
    _, action, observation, place, mask = one
    return {
        "place": place,
        "action": action,
        "observation": observation,
        "overlap": round(mask.overlap, 4),
        "novelty": round(mask.novelty, 4),
        "jaccard": round(mask.jaccard, 4),
        "ratio": round(mask.ratio, 4),
    }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 0.0
