"""Runs the acceptance on scripted authors and judges what it accepted; see README.md.

python -m experiments.compiled --recording bfcl.jsonl --judging bfcl-judging.jsonl --output results/bfcl.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import runpy
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentworld_sim.bench.acceptance import (
    ProgramAnswer,
    answer_of,
    first_wrong,
    missing_evidence,
)
from agentworld_sim.bench.program_author import compile_tools
from agentworld_sim.bench.transitions import RecordedSession, Transition, TransitionSet, share
from agentworld_sim.engines.program import Program, outcome_kind
from agentworld_sim.llm.chat import ChatMessage
from experiments.compiled.programs import PROGRAMS, program_for
from experiments.compiled.wrong_programs import CHANGED, LEARNT_BY_HEART, learnt_by_heart

JUDGING = 0.3


def is_judging(session: RecordedSession) -> bool:
    """Whether neither author nor acceptance sees a session."""
    kind, task = session.source.partition(" ")[0], session.task.rpartition("_")[2]
    return share(f"judge {kind} {task}") < JUDGING


class Material:
    """The recordings in their parts."""

    def __init__(self, recording: Path, judging: Sequence[Path]) -> None:
        given = TransitionSet.load([recording])
        self.compiling = TransitionSet([one for one in given.sessions if not is_judging(one)])
        self.judging: dict[str, list[Transition]] = {}
        for path in judging:
            for one in TransitionSet.load([path]).transitions():
                if is_judging(one.session):
                    self.judging.setdefault(one.truth.call.name, []).append(one)
        self.parts: dict[str, tuple[list[Transition], list[Transition]]] = {}
        for one in self.compiling.transitions():
            shown, held_out = self.parts.setdefault(one.truth.call.name, ([], []))
            (held_out if one.session.held_out else shown).append(one)


async def run(material: Material, tool: str, code: str, about: str) -> dict[str, Any]:
    """What became of one program, and how right it is on the judging part."""

    async def author(messages: Sequence[ChatMessage]) -> str:
        return f"```python\n{code}\n```"

    ((_, program),) = [one async for one in compile_tools(material.compiling, author, [tool])]
    accepted = isinstance(program, Program)
    row: dict[str, Any] = {"tool": tool, "about": about, "accepted": accepted}
    # Without the recording's own words, which are not ours to keep.
    row["reason"] = "" if isinstance(program, Program) else program.partition(":")[0]
    kinds = program.kinds if isinstance(program, Program) else None
    shown, held_out = material.parts.get(tool, ([], []))
    row["evidence"] = not missing_evidence(shown, held_out)
    row["held_out_refuses"] = row["evidence"] and first_wrong(code, held_out) is not None
    judging = material.judging.get(tool, [])
    began = time.perf_counter()
    said = [(one, answer_of(code, one)) for one in judging]
    row["seconds"] = time.perf_counter() - began
    row["judged"] = len(judging)
    row["right"] = sum(answer.is_right(one) for one, answer in said)
    # What the engine would not take from the program, and give to the model.
    declined = [
        one.id for one, answer in said if answer.failure or not _is_known(answer, one, kinds)
    ]
    wrong = [one.id for one, answer in said if not answer.is_right(one) and one.id not in declined]
    row["declined"], row["wrong"], row["wrong_at"] = len(declined), len(wrong), wrong[:5]
    print(json.dumps(row), flush=True)
    return row


def _is_known(answer: ProgramAnswer, one: Transition, kinds: Sequence[str] | None) -> bool:
    return kinds is None or outcome_kind(answer.observation, one.truth.call.arguments) in kinds


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recording", type=Path, required=True)
    parser.add_argument("--judging", type=Path, action="append", default=[])
    parser.add_argument(
        "--programs", type=Path, help="Defines PROGRAMS and CHANGED; BFCL's by default."
    )
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    material = Material(given.recording, [given.recording, *given.judging])
    own = runpy.run_path(str(given.programs)) if given.programs else None
    programs, changed = (own["PROGRAMS"], own["CHANGED"]) if own else (PROGRAMS, CHANGED)

    def right(tool: str) -> str:
        if own:
            return programs[tool]
        answers = [one.truth.observation.text for one in material.parts[tool][0]]
        return program_for(tool, answers)

    rows: dict[str, list[dict[str, Any]]] = {"right": [], "wrong": []}
    for tool in programs:
        if tool in material.parts:
            rows["right"].append(await run(material, tool, right(tool), ""))
    for tool, about, old, new in changed:
        code = right(tool)
        assert old in code
        rows["wrong"].append(await run(material, tool, code.replace(old, new), about))
    for tool in LEARNT_BY_HEART if own is None else ("get_user_details",):
        code = learnt_by_heart(material.parts[tool][0])
        rows["wrong"].append(await run(material, tool, code, "learnt by heart"))
    left = sorted(material.parts.keys() - set(programs))
    about = {"recording": given.recording.stem, "tools": len(material.parts), "no program": left}
    given.output.parent.mkdir(exist_ok=True)
    given.output.write_text(json.dumps({**about, **rows}, indent=1) + "\n")


asyncio.run(main())
