"""Transitions of environments that are code: state before, call, observation, state after.

A file has one JSON value a line: the environment's tools, the states that sessions begin with (each once), and the
sessions themselves. States are tables of records, as a world keeps them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, cast

from agentworld_sim.bench.run_file import RECORDINGS, require_kind
from agentworld_sim.errors import UsageError
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation
from agentworld_sim.whole_file import write_file

Tables = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Table to key to record."""

Changes = Mapping[str, Mapping[str, Mapping[str, Any] | None]]
"""Table to key to the record afterwards; `None` where it is gone."""

Side = Literal["train", "known", "unseen"]
"""Where a transition belongs: to what may be learnt from, to the tasks that are held out, or to the tools that are."""

HELD_OUT_TASKS = 0.4
"""Share of the tasks that nothing may be learnt from."""

HELD_OUT_TOOLS = 0.2
"""Share of the tools that nothing may be learnt from, in whatever task they are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call of a session, and what the environment made of it."""

    call: ToolCall
    observation: Observation
    changes: Changes
    by_chance: frozenset[str] = frozenset()
    """Scalars of answer and state, as texts, that the environment drew at random: any value of their form is
    right, as long as it is the same one everywhere."""
    probe: bool = False
    """Whether the call is none of the task's, but one with an argument changed."""
    verifiers: Sequence[Mapping[str, Any]] = ()
    """Checks by name, with their arguments: an answer that obeys the session's instruction passes them all."""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.call.to_json(),
            "text": self.observation.text,
            "is_error": self.observation.is_error,
            "by_chance": sorted(self.by_chance),
            "probe": self.probe,
            "changes": self.changes,
            "verifiers": list(self.verifiers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """One task as it was played."""

    source: str
    """The package and its version."""
    task: str
    tools: tuple[ToolSpec, ...]
    keys: Mapping[str, str]
    """Table to the field that names its records."""
    initial: Tables
    calls: tuple[RecordedCall, ...]
    has_state: bool = True
    """Whether it is known what calls changed; if not, their answers alone are scored."""
    instruction: str = ""
    """What a model is told of how the environment behaves here."""

    @property
    def held_out(self) -> bool:
        """Whether it is one of the tasks that nothing may be learnt from."""
        # The variants of one task hold the same calls.
        task, kind = self.task.rpartition("_")[2], self.source.partition(" ")[0]
        return share(f"task {kind} {task}") < HELD_OUT_TASKS

    def transitions(self) -> Iterator[Transition]:
        """Every call with the state before it."""
        held = {table: dict(records) for table, records in self.initial.items()}
        for place, recorded in enumerate(self.calls):
            before = {table: dict(records) for table, records in held.items()}
            yield Transition(session=self, place=place, before=before)
            apply(held, recorded.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One call, with the state and the session it was made in."""

    session: RecordedSession
    place: int
    """Among the session's calls, from 0."""
    before: Tables

    @property
    def id(self) -> str:
        return f"{self.session.task}/{self.place}"

    @property
    def truth(self) -> RecordedCall:
        return self.session.calls[self.place]

    @property
    def tool(self) -> ToolSpec:
        return next(one for one in self.session.tools if one.name == self.truth.call.name)

    @property
    def side(self) -> Side:
        """The same for equal names in every run, so that what was learnt from is never what is asked about."""
        if share(f"tool {self.truth.call.name}") < HELD_OUT_TOOLS:
            return "unseen"
        return "known" if self.session.held_out else "train"

    @property
    def fields_changed(self) -> int:
        """Fields of records that the call changed; a record that is new or gone counts with all it has."""
        count = 0
        for table, records in self.truth.changes.items():
            for key, record in records.items():
                old, new = self.before.get(table, {}).get(key) or {}, record or {}
                count += sum(old.get(name) != new.get(name) for name in {**old, **new})
        return count


@dataclass(slots=True)
class TransitionSet:
    """Everything that was recorded."""

    sessions: list[RecordedSession] = field(default_factory=list[RecordedSession])

    @classmethod
    def load(cls, paths: Iterable[Path]) -> TransitionSet:
        """Reads recorded files.

        Raises:
            UsageError: a file is not of this form, or two sessions have one name.
        """
        found = cls()
        for path in paths:
            found.sessions += _read(path)
        names = [session.task for session in found.sessions]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two sessions are called {name!r}: give every file once.")
        return found

    def write(self, path: Path) -> None:
        """Writes one file that `load` reads."""
        lines: list[Any] = []
        for session in self.sessions:
            task = session.task
            lines += ({"tool": tool.to_json(), "api": task} for tool in session.tools)
            lines.append({"state": task, "tables": session.initial})
            lines.append({
                "source": session.source,
                "task": task,
                "apis": [task],
                "keys": session.keys,
                "initial": task,
                "has_state": session.has_state,
                "instruction": session.instruction,
                "turns": [one.to_json() for one in session.calls],
            })  # fmt: skip
        write_file(path, "".join(json.dumps(one) + "\n" for one in lines))

    def transitions(self, side: Side | None = None) -> Iterator[Transition]:
        """All transitions in their order, or those of one side."""
        for session in self.sessions:
            for transition in session.transitions():
                if side is None or transition.side == side:
                    yield transition


def apply(tables: dict[str, dict[str, Any]], changes: Changes) -> None:
    """Carries changes out in tables."""
    for table, records in changes.items():
        held = tables.setdefault(table, {})
        for key, record in records.items():
            if record is None:
                held.pop(key, None)
            else:
                held[key] = record


def changes_between(before: Tables, after: Tables) -> Changes:
    """What differs between two states."""
    found: dict[str, dict[str, Any]] = {}
    for table in {**before, **after}:
        old, new = before.get(table, {}), after.get(table, {})
        changed = {key: new.get(key) for key in {**old, **new} if old.get(key) != new.get(key)}
        if changed:
            found[table] = changed
    return found


def scalars_of(value: Any) -> Iterator[Any]:
    """All names and scalars of a JSON value, in their order."""
    if isinstance(value, Mapping):
        for name, one in cast("Mapping[str, Any]", value).items():
            yield name
            yield from scalars_of(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from scalars_of(one)
    else:
        yield value


def drawn_by_chance(here: Any, there: Any) -> frozenset[str]:
    """The scalars of a JSON value, as texts, that are otherwise in a value that should be the same."""
    pairs = zip(scalars_of(here), scalars_of(there), strict=False)
    return frozenset(str(one) for one, other in pairs if one != other)


def parse_json(text: str) -> Any:
    """The value of a text that is JSON; any other is its own value, without the line ends after it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.rstrip("\n")


def share(name: str) -> float:
    """A number from 0 to 1 that depends on a name alone: what has a small one belongs to a held-out part."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big") / 2**32


def _read(path: Path) -> Iterator[RecordedSession]:
    tools: dict[str, list[ToolSpec]] = {}
    states: dict[str, Tables] = {}
    require_kind(path, RECORDINGS)
    # As bytes: a line that is no text is told with its number.
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                value = cast("dict[str, Any]", json.loads(line))
                if "tool" in value:
                    tools.setdefault(value["api"], []).append(_tool(value["tool"]))
                elif "state" in value:
                    states[value["state"]] = value["tables"]
                else:
                    yield _session(value, tools, states)
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"{path}, line {number}: {type(error).__name__}: {error}. The recording was cut off or"
                    " changed; make it again."
                ) from None


def _session(
    value: Mapping[str, Any], tools: Mapping[str, Sequence[ToolSpec]], states: Mapping[str, Tables]
) -> RecordedSession:
    return RecordedSession(
        source=value["source"],
        task=value["task"],
        tools=tuple(tool for api in value["apis"] for tool in tools[api]),
        keys=value["keys"],
        initial=states[value["initial"]],
        has_state=value.get("has_state", True),
        instruction=value.get("instruction", ""),
        calls=tuple(
            RecordedCall(
                call=ToolCall(turn["name"], turn.get("arguments", {})),
                observation=Observation(
                    text=turn["text"], is_error=turn["is_error"], provenance="real"
                ),
                changes=turn["changes"],
                by_chance=frozenset(turn["by_chance"]),
                probe=turn["probe"],
                verifiers=tuple(turn.get("verifiers", ())),
            )
            for turn in value["turns"]
        ),
    )


def _tool(value: Mapping[str, Any]) -> ToolSpec:
    if "inputSchema" not in value:
        return ToolSpec.from_json(value)
    return ToolSpec(
        name=value["name"],
        description=value.get("description", ""),
        input_schema=value["inputSchema"],
        output_schema=value.get("outputSchema"),
        domain="mcp",
    )
