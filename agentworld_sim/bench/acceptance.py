"""Whether a program stands for a recorded tool: it says and does what recordings say that its author never saw, and
the same check refuses recordings that are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentworld_sim.bench.scores import score
from agentworld_sim.bench.transitions import Changes, Transition
from agentworld_sim.engines.program import outcome_kind
from agentworld_sim.engines.sandbox import run_program
from agentworld_sim.engines.stubs import stub_observation
from agentworld_sim.errors import EngineFailure
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.turns import Observation

HELD_OUT = 8
"""Recordings that a tool must have beside those its author is shown."""

NEW = 4
"""How many of them must come out as nothing did that the author is shown: a right guess among the outcomes that are
known proves little."""

CLOCK_US = 1_700_000_000_000_000

PAIRS = 400
"""Most pairs of recordings that are tried for a changed argument."""


@dataclass(frozen=True, slots=True)
class ProgramAnswer:
    """What a program said to a recorded call, or why it said nothing."""

    observation: Observation
    changes: Changes
    failure: str = ""

    def is_right(self, transition: Transition) -> bool:
        """Whether answer and state are those of a recording."""
        said = self.observation
        return not self.failure and score(transition, said.text, said.is_error, self.changes).right


def answer_of(code: str, transition: Transition) -> ProgramAnswer:
    """What a program says to a recorded call in the state that it was made in."""
    arguments = transition.truth.call.arguments
    try:
        given, operations = run_program(
            code, arguments, transition.before, clock_us=CLOCK_US, seed=1
        )
        observation = stub_observation(given, transition.tool)
        if observation.is_error and operations:
            raise ValueError("a call that fails changes nothing, and `operations` is not empty")
        return ProgramAnswer(observation, _changes(operations, transition))
    except (ValueError, EngineFailure) as failure:
        return ProgramAnswer(Observation(text=""), {}, str(failure))


def kind_of(one: Transition) -> str:
    """How a recorded call came out."""
    return outcome_kind(one.truth.observation, one.truth.call.arguments)


def missing_evidence(shown: Sequence[Transition], held_out: Sequence[Transition]) -> str:
    """Why the recordings of a tool cannot tell a right program from a wrong one; empty if they can."""
    if len(held_out) < HELD_OUT:
        return f"only {len(held_out)} held-out recordings, and {HELD_OUT} are needed"
    known = {_outcome(one) for one in shown}
    new = sum(_outcome(one) not in known for one in held_out)
    if new < NEW:
        return (
            f"only {new} held-out recordings come out as none that is shown, and {NEW} are needed"
        )
    ends = {(kind_of(one), *sorted(one.truth.changes)) for one in held_out}
    for one in shown:
        if (kind_of(one), *sorted(one.truth.changes)) not in ends:
            return f"no held-out recording ends like {one.id}: {one.truth.observation.text[:60]!r}"
    return ""


def first_wrong(
    code: str, transitions: Sequence[Transition]
) -> tuple[Transition, ProgramAnswer] | None:
    """The first recording that a program does not reproduce, and what it says instead."""
    for one in transitions:
        said = answer_of(code, one)
        if not said.is_right(one):
            return one, said
    return None


def unnoticed_mutation(code: str, held_out: Sequence[Transition]) -> str:
    """Which of five wrong truths the check takes for right, or cannot be tried with; empty if none.

    Args:
        code: A program that reproduces the recordings.
        held_out: The recordings.
    """
    answers = [(one, answer_of(code, one)) for one in held_out]
    for name in ("another answer", "an error in place of a success", "another field", "its effect"):
        tried = [(wrong, said) for one, said in answers if (wrong := _mutate(one, name))]
        if not tried or any(said.is_right(wrong) for wrong, said in tried):
            return name
    pairs = list(_other_arguments(held_out))[:PAIRS]
    if pairs and all(answer_of(code, other).is_right(one) for one, other in pairs):
        return "another argument"
    return ""


def _mutate(one: Transition, what: str) -> Transition | None:
    said, changes, before = one.truth.observation, one.truth.changes, one.before
    if what == "another answer":
        return _with_truth(one, observation=replace(said, text=said.text + " (another)"))
    if what == "an error in place of a success":
        return _with_truth(one, observation=replace(said, is_error=not said.is_error))
    if what == "its effect" and changes:
        return _with_truth(one, changes={})
    # A record that is another one; where nothing changes, one that changes.
    for table, records in (changes or before).items():
        for key, record in records.items():
            if record is not None:
                other = None if what == "its effect" else {**record, "mutated": 1}
                changed = {**changes.get(table, {}), key: other}
                return _with_truth(one, changes={**changes, table: changed})
    return None


def _other_arguments(held_out: Sequence[Transition]) -> Iterator[tuple[Transition, Transition]]:
    """Recordings, each with the same state under the arguments of a call that came out otherwise."""
    for one in held_out:
        for other in held_out:
            given = other.truth.call
            if given.arguments != one.truth.call.arguments and _outcome(one) != _outcome(other):
                yield one, _with_truth(one, call=given)


def _with_truth(one: Transition, **changed: Any) -> Transition:
    calls = list(one.session.calls)
    calls[one.place] = replace(one.truth, **changed)
    return replace(one, session=replace(one.session, calls=tuple(calls)))


def _outcome(one: Transition) -> str:
    said = one.truth.observation
    return canonical_json([said.text, said.is_error, one.truth.changes])


def _changes(operations: Sequence[Mapping[str, Any]], transition: Transition) -> Changes:
    """What operations change, as a world would carry them out. Raises `ValueError` where it could not."""
    keys, before = transition.session.keys, transition.before
    after: dict[str, dict[str, Any]] = {}
    for one in operations:
        table, record = one["table"], one.get("record")
        named = one.get("key") if record is None else record.get(keys.get(table))
        key = str(named)
        held = after.get(table, {}).get(key, before.get(table, {}).get(key))
        # A world tells 1 from "1", and recordings do not.
        if named is None or (held[keys[table]] != named if held else record is None):
            raise ValueError(f"no record of {table!r} has the key {named!r}")
        after.setdefault(table, {})[key] = None if record is None else {**(held or {}), **record}
    return {
        table: changed
        for table, records in after.items()
        if (changed := {k: v for k, v in records.items() if v != before.get(table, {}).get(k)})
    }
