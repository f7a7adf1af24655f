"""Has a model write recorded tools as programs, and keeps those that recordings accept."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from agentworld_sim.bench.acceptance import (
    ProgramAnswer,
    first_wrong,
    kind_of,
    missing_evidence,
    unnoticed_mutation,
)
from agentworld_sim.bench.predict import operations_of
from agentworld_sim.bench.transitions import Transition, TransitionSet
from agentworld_sim.engines.program import Program
from agentworld_sim.errors import ContextOverflow
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.ports.blocking import off_loop

Author = Callable[[Sequence[ChatMessage]], Awaitable[str]]
"""Writes a reply to a conversation."""

ROUNDS = 4
"""How often an author may write, each time with a recording that its last program does not reproduce."""

EXAMPLES = 8
STATE_CHARACTERS = 3_000
"""Most of a state that is shown with one example."""

TASK = """You write tools of a simulated system as Python. Reply with one code block that defines

def answer(arguments, tables, now, seed):
    ...

arguments: the call's arguments. tables: {table: {key: record}}, the state before the call; keys are strings.
now: the time, ISO 8601. seed: an integer; draw what the real system draws at random with random.Random(seed).
Return a dict with exactly one of "text" (a string), "value" (JSON) or "error" (the text the tool fails with), and,
if the call changes the state, "operations": a list of
{"kind": "put", "table": T, "record": {...}} (writes the fields of a record; it must name its key field) and
{"kind": "delete", "table": T, "key": K} (K as it stands in the record).
Only json, re, math, random and datetime can be imported. Do not learn the examples by heart: the program is tried with
calls and states that you have not seen. Raise NotImplementedError for what they do not show."""


async def compile_tools(
    recordings: TransitionSet, author: Author, tools: Sequence[str] = ()
) -> AsyncIterator[tuple[str, Program | str]]:
    """Every tool of some recordings with its program, or the reason why it stays imagined.

    Args:
        recordings: Of one system. The author is shown what may be learnt from; the held-out tasks decide.
        author: Writes the programs.
        tools: Names; all by default.
    """
    by_tool: dict[str, list[Transition]] = {}
    for one in recordings.transitions():
        by_tool.setdefault(one.truth.call.name, []).append(one)
    for name in tools or sorted(by_tool):
        yield name, await _compile(by_tool.get(name, []), author)


async def _compile(transitions: Sequence[Transition], author: Author) -> Program | str:
    shown = [one for one in transitions if not one.session.held_out]
    held_out = [one for one in transitions if one.session.held_out]
    if any(one.tool != transitions[0].tool for one in transitions):
        return "its recordings are of several tools of this name"
    if missing := missing_evidence(shown, held_out):
        return missing
    tool, code = transitions[0].tool, ""
    # First those that come out differently.
    some = [*{kind_of(one): one for one in reversed(shown)}.values(), *shown]
    about = {"name": tool.name, "description": tool.description, "input": tool.input_schema}
    keys = f"tables and the fields that name their records: {dict(shown[0].session.keys)}"
    task = [json.dumps(about, ensure_ascii=False), keys, *map(_example, some[:EXAMPLES])]
    begin = [ChatMessage("system", TASK), ChatMessage("user", "\n\n".join(task))]
    messages = begin
    for _ in range(ROUNDS):
        try:
            reply = await author(messages)
        except ContextOverflow as error:
            return f"its examples do not fit into the author's context: {error}"
        # The last block of code, or all of it.
        code = (re.findall(r"```(?:python)?\n(.*?)```", reply, re.DOTALL) or [reply])[-1]
        wrong = await off_loop(lambda code=code: first_wrong(code, shown), brief=False)
        if wrong is None:
            break
        correction = ChatMessage("user", f"The program is wrong here:\n{_example(*wrong)}")
        messages = [*begin, ChatMessage("assistant", reply), correction]
    else:
        return f"no program of {ROUNDS} reproduces what its author is shown"
    wrong = await off_loop(lambda: first_wrong(code, held_out), brief=False)
    if wrong is not None:
        return f"the program is wrong in the held-out recording {wrong[0].id}"
    if unnoticed := await off_loop(lambda: unnoticed_mutation(code, held_out), brief=False):
        return f"the check does not notice recordings in which {unnoticed} is wrong"
    return Program(
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        code=code,
        kinds=sorted({kind_of(one) for one in transitions}),
        held_out=len(held_out),
    )


def _example(one: Transition, said: ProgramAnswer | None = None) -> str:
    """A recording as an author reads it, perhaps with what its program said."""
    truth, state = one.truth, json.dumps(one.before, ensure_ascii=False)
    if len(state) > STATE_CHARACTERS:
        shape = {name: list(records.values())[:2] for name, records in one.before.items()}
        state = json.dumps(shape, ensure_ascii=False)[:STATE_CHARACTERS] + " … (cut)"
    touched = [
        one.before.get(table, {}).get(key) for table, rows in truth.changes.items() for key in rows
    ]
    told: dict[str, Any] = {
        "arguments": truth.call.arguments,
        "records that change, before": touched,
        "fails" if truth.observation.is_error else "answers": truth.observation.text,
        "operations": operations_of(one),
        "drawn at random": sorted(truth.by_chance),
    }
    if said is not None:
        told["your program"] = said.failure or [said.observation.text, said.changes]
    return f"state: {state}\n{json.dumps(told, ensure_ascii=False)}"
