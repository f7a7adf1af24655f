"""A run on a local Ray cluster: the same rows as without, in other processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentworld_sim.bench.ray_cluster import on_ray
from agentworld_sim.bench.run import read_run
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.errors import ModelUnavailable, UsageError
from tests.bench.test_run import server


async def _process(number: int) -> tuple[int, int]:
    if number < 0:
        raise ModelUnavailable("nobody is there")
    return number, os.getpid()


async def test_work_is_done_in_other_processes_and_its_failure_is_its_own() -> None:
    with pytest.raises(UsageError, match="no Ray cluster answers at 'auto'"):
        async with on_ray(_process, address="auto"):
            pass
    async with on_ray(_process) as (process, at_once):
        done = await asyncio.gather(*map(process, range(2 * at_once)))
        with pytest.raises(ModelUnavailable, match="nobody is there"):
            await process(-1)
    assert [number for number, _ in done] == list(range(2 * at_once))
    assert os.getpid() not in {process for _, process in done}


def test_a_run_on_a_cluster_gives_the_same_rows(
    recording: Callable[..., Path], tmp_path: Path
) -> None:
    recorded = recording(*(f"task_{number}" for number in range(6)))
    known = TransitionSet.load([recorded])
    written: list[Any] = []
    with server(list(known.sessions[0].transitions()), wrong=2) as served:
        ask = ["bench", "run", str(recorded), "--side", "train", "--model-url", served.url]
        ask += ["--no-thinking", "--output"]
        for name, more in (("alone", []), ("cluster", ["--ray"])):
            call = partial(CliRunner().invoke, cli, catch_exceptions=False)
            assert call([*ask, str(tmp_path / name), *more]).exit_code == 0
            about, rows = read_run(tmp_path / name)
            written.append((about, {row.id: (row.text, row.changes, row.score) for row in rows}))
    assert written[0] == written[1]
    assert len(written[0][1]) > 1
