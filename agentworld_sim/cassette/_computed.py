"""Computed answers: not recorded, and yet compared by `verify`. One short line says what each was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_sim.cassette._entries import Malformed, short_digest
from agentworld_sim.cassette._states import BOOKKEEPING
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.turns import Turn

LETTERS = 8
"""Of a digest: enough to notice a difference, not to name a call among millions."""


@dataclass(frozen=True, slots=True)
class ComputedTurn:
    """One computed answer."""

    tool: str
    arguments: str
    """Digest."""
    answer: str
    """Digest of what was said and of what it changed."""
    shown: str = ""
    """The call for people; empty where it was read from a file."""
    said: str = ""

    def line(self) -> str:
        return f"{self.tool} {self.arguments} {self.answer}"

    @classmethod
    def from_line(cls, line: object) -> ComputedTurn:
        """Raises `Malformed` when it is none."""
        words = line.rsplit(" ", 2) if isinstance(line, str) else []
        if len(words) != 3:
            raise Malformed("a computed answer is a tool's name and two digests, divided by spaces")
        return cls(*words)

    @classmethod
    def of(cls, turn: Turn, arguments: Mapping[str, Any]) -> ComputedTurn:
        """Of a turn, whose arguments are as they are recorded."""
        observation = turn.observation.to_json()
        del observation["provenance"]
        shown = f"{turn.call.name}({canonical_json(arguments)})"
        return cls(
            turn.call.name,
            short_digest(arguments, LETTERS),
            short_digest([observation, _changed(turn.change)], LETTERS),
            shown if len(shown) <= 120 else f"{shown[:100]} … {shown[-15:]}",
            turn.observation.text,
        )


def computed_drift(
    recorded: Sequence[ComputedTurn], now: Sequence[ComputedTurn], clean: Callable[[str], str]
) -> Iterator[str]:
    """What differs. Calls are compared with equal ones, the first with the first: the order in which
    several worlds answered counts for nothing.

    Args:
        recorded: The turns of the cassette.
        now: Those of this run.
        clean: Takes secrets out of what was said.
    """
    known, made = _by_call(recorded), _by_call(now)
    for call, turns in made.items():
        before = known.get(call, [])
        for number, turn in enumerate(turns):
            if number >= len(before):
                yield f"computed: {turn.shown} was not called when this was recorded"
            elif before[number].answer != turn.answer:
                said = clean(turn.said)
                said = said if len(said) <= 500 else f"{said[:400]} …"
                yield (
                    f"computed: {turn.shown} is answered otherwise, or changes something else, than when"
                    f" this was recorded. Now:\n{_indented(said)}"
                )
    for (tool, arguments), turns in known.items():
        missing = len(turns) - len(made.get((tool, arguments), ()))
        if missing > 0:
            times = "once" if missing == 1 else f"{missing} times"
            yield f"computed: {tool!r} ({arguments}) was called {times} more when this was recorded"


def _by_call(turns: Iterable[ComputedTurn]) -> dict[tuple[str, str], list[ComputedTurn]]:
    found: dict[tuple[str, str], list[ComputedTurn]] = {}
    for turn in turns:
        found.setdefault((turn.tool, turn.arguments), []).append(turn)
    return found


def _changed(change: StateChange) -> dict[str, Any]:
    files = {
        path: None if entry is None else [entry.kind, entry.mode & 0o700, entry.content]
        for path, entry in change.files.items()
    }
    values = {key: value for key, value in change.values.items() if not key.startswith(BOOKKEEPING)}
    return {"files": files, "values": values}


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
