"""Rows in the form of AgentWorldBench (arXiv 2606.24597): a system prompt, actions, observations.

A row is used as it is given: its own `system_str`, the texts of its turns, and `prompt[turn_idx - 1]`
as the last message. No template is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.scoring.samples import Message, PredictionSample
from agentworld_sim.scoring.wire_text import parse_action, parse_call, strip_marker
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.tools import DomainName

BENCH_FIELDS = (
    *("task", "id", "prompt", "response", "current_prompt", "system_str", "turn_idx"),
    *("total_turns", "domain"),
)
_NEEDED: Mapping[str, type | tuple[type, ...]] = {
    "prompt": list,
    "response": list,
    "system_str": str,
    "turn_idx": int,
}


def is_bench_row(row: Mapping[str, Any]) -> bool:
    """Whether a row looks like one of this form, right or wrong."""
    return len(set(BENCH_FIELDS) & row.keys()) >= 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """One row: a trajectory, one turn of which is asked about."""

    task: str
    """What train and test are disjoint by."""
    trajectory: str
    """Equal for the rows about several turns of one trajectory, which repeat its texts under different
    ids."""
    domain: DomainName
    system: str
    actions: tuple[str, ...]
    """User messages, as they stand in the row."""
    observations: tuple[str | None, ...]
    """As many as actions, as they stand in the row; `None` where the row has none."""
    turn: int
    """Which turn is asked about, from 1."""
    sample: PredictionSample
    """The question, with the true observation."""
    id: str = ""
    """As the row calls it; rows about several turns may share it."""
    current: str
    """The action that is asked about, as a judge is told it."""
    recorded: str = ""
    """A model's whole reply (`gen`), where the row brings one."""

    @classmethod
    def from_json(
        cls, row: Mapping[str, Any], *, place: str, domain: DomainName | None = None
    ) -> BenchRow:
        """Reads one row.

        Args:
            place: File and line, for messages.
            domain: The domain, where the row does not name it: by the file's name or a setting.

        Raises:
            UsageError: the row is not of this form.
        """
        _check(row, place)
        own = _domain(row, place, domain)
        actions = [_text(one, place, "prompt") for one in row["prompt"]]
        answers = [
            None if one is None else _text(one, place, "response") for one in row["response"]
        ]
        turn: int = row["turn_idx"]
        if not 1 <= turn <= len(actions):
            raise UsageError(
                f"{place}: `turn_idx` is {turn}, and the row has {len(actions)} actions in `prompt`;"
                " turns count from 1."
            )
        system: str = row["system_str"]
        trajectory = "bench-" + hash_ref("row", [own, system, actions[:1], answers[:1]])[:16]
        task = str(row.get("task") or "")
        if not task or _domain_in(task):
            # The name of a domain would put all of its rows on one side.
            task = str(row.get("id") or trajectory)
        answers += [None] * (len(actions) - len(answers))
        messages = _messages(system, actions[:turn], answers[: turn - 1], place)
        return cls(
            task=task,
            trajectory=trajectory,
            domain=own,
            system=system,
            actions=tuple(actions),
            observations=tuple(answers[: len(actions)]),
            turn=turn,
            sample=_sample(
                task, trajectory, turn, own, messages, strip_marker(answers[turn - 1] or "")
            ),
            id=str(row.get("id") or ""),
            current=str(row.get("current_prompt") or actions[turn - 1]),
            recorded=str(row.get("gen") or ""),
        )


def _sample(
    task: str,
    trajectory: str,
    number: int,
    domain: DomainName,
    messages: tuple[Message, ...],
    observation: str,
) -> PredictionSample:
    call = parse_call(parse_action(messages[-1]["content"]))
    return PredictionSample(
        id=hash_ref("sample", {"messages": list(messages), "observation": observation}),
        task=task,
        trajectory=trajectory,
        turn=number,
        domain=domain,
        messages=messages,
        observation=observation,
        evidence={
            "provenance": "real",
            "call": {"name": call.name, "arguments": dict(call.arguments)},
        },
    )


def _messages(
    system: str, actions: list[str], answers: list[str | None], place: str
) -> tuple[Message, ...]:
    messages = [Message(role="system", content=system)]
    for number, (action, answer) in enumerate(zip(actions[:-1], answers, strict=True), 1):
        if answer is None:
            raise UsageError(
                f"{place}: `response` has no observation for turn {number}, which stands before the"
                " turn that is asked about."
            )
        messages.append(Message(role="user", content=action))
        messages.append(Message(role="assistant", content=answer))
    messages.append(Message(role="user", content=actions[-1]))
    return tuple(messages)


def _check(row: Mapping[str, Any], place: str) -> None:
    for name, kind in _NEEDED.items():
        if name not in row:
            hint = nearest(name, row)
            raise UsageError(
                f"{place}: the row has no {name!r}.{hint} A row in AgentWorldBench form has:"
                f" {', '.join(BENCH_FIELDS[:-1])}."
            )
        if not isinstance(row[name], kind) or isinstance(row[name], bool):
            raise UsageError(
                f"{place}: {name!r} is {type(row[name]).__name__}, and must be"
                f" {cast('type', kind).__name__}."
            )


def _domain(row: Mapping[str, Any], place: str, given: DomainName | None) -> DomainName:
    known = get_args(DomainName)
    named: object = row.get("domain")
    if named is not None:
        for name in known:
            if str(named).lower() == name:
                return name
        raise UsageError(
            f"{place}: there is no domain {named!r}.{nearest(str(named), known)} There are:"
            f" {', '.join(known)}."
        )
    told = _domain_in(str(row.get("task", "")))
    if told and given and told != given:
        raise UsageError(f"{place}: the row is of the domain {told!r}, and its file of {given!r}.")
    if found := told or given:
        return found
    raise UsageError(
        f"{place}: the row does not tell its domain. Name the file DOMAIN_test.jsonl, give rows a"
        " 'domain', or write domain = \"…\" into [data.settings]. Domains are:"
        f" {', '.join(known)}."
    )


def _domain_in(task: str) -> DomainName | None:
    """The domain that a row's `task` names, alone or after a slash."""
    last = task.lower().rpartition("/")[2]
    return next((name for name in get_args(DomainName) if name == last), None)


def domain_of_file(path: Path) -> DomainName | None:
    """The domain that a file's name begins with: `terminal_test.jsonl`."""
    first = path.name.lower().replace("-", "_").replace(".", "_").partition("_")[0]
    return next((name for name in get_args(DomainName) if name == first), None)


def _text(value: object, place: str, name: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{place}: {name!r} holds {type(value).__name__}, and must hold texts.")
    return value
