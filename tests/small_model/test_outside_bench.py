"""The tasks of BFCL and of tau2 with their tools simulated, beside their own backends."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from agentworld_sim.bench.make import make
from agentworld_sim.bench.predict import Row
from agentworld_sim.bench.run import figures_of
from agentworld_sim.bench.transitions import RecordedSession, TransitionSet
from tests.bench.test_computed_worlds import Oracle, play
from tests.small_model.conftest import BUILD, HERE


async def test_tools_answered_by_code_end_every_task_as_its_own_backend_does(
    tmp_path: Path,
) -> None:
    make("bfcl", BUILD / "bfcl", tmp_path / "bfcl.jsonl", probes=0.0)
    sessions = TransitionSet.load([tmp_path / "bfcl.jsonl"]).sessions[::4]
    assert len(sessions) == 100
    await _do(sessions)


@pytest.mark.parametrize(
    ("domain", "every", "count"), [("telecom", 1, 114), ("airline", 15, 3), ("retail", 40, 3)]
)
async def test_tau2_rewards_what_was_done_with_simulated_tools(
    domain: str, every: int, count: int, tmp_path: Path
) -> None:
    make(f"tau2-{domain}", BUILD / "tau2", tmp_path / "tasks.jsonl", probes=0.0)
    sessions = TransitionSet.load([tmp_path / "tasks.jsonl"]).sessions[::every]
    assert len(sessions) == count
    done = zip(sessions, await _do(sessions), strict=True)
    assert _rewards(domain, done) == ["1.0"] * count


def _rewards(domain: str, done: Iterable[tuple[RecordedSession, Sequence[Row]]]) -> list[str]:
    told: list[str] = []
    for session, rows in done:
        calls = zip((one.call for one in session.calls), rows, strict=True)
        said = [[call.name, call.arguments, row.text] for call, row in calls]
        told.append(json.dumps([session.task.partition("_")[2], said]))
    program = [str(BUILD / "tau2" / "bin" / "python"), str(HERE / "tau2_rewards.py"), domain]
    run = subprocess.run(
        program, input="\n".join(told), stdout=subprocess.PIPE, text=True, check=True
    )
    return run.stdout.split()


async def _do(sessions: Sequence[RecordedSession]) -> list[list[Row]]:
    """Plays tasks with the calls of their right answers; every answer and every last state is the backend's."""
    done: list[list[Row]] = []
    for session in sessions:
        truth = list(session.transitions())
        done.append(await play(truth, Oracle(truth), whole=True))
    figures = figures_of([row for rows in done for row in rows])
    assert figures["state, after a task's last call"].count == len(sessions)
    assert figures["state, after a task's last call"].share == figures["right"].share == 100.0
    return done
