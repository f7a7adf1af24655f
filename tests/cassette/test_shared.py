"""Cassettes that several worlds, tests and processes write together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentworld_sim.cassette import Cassette
from tests.cassette.lab import Studio, numbered

SHARED = {"shared": True}


async def test_what_others_recorded_stays(studio: Studio) -> None:
    for city in ("Bern", "Basel", "Bern"):
        async with studio.open("once", numbered, cassette={**SHARED, "began": 0.0}) as one:
            await one.ask(city)
            await one.end()
    found = Cassette.load(studio.path)
    assert sorted(one.key.about["city"] for one in found.entries) == ["Basel", "Bern"]
    async with studio.open("live", numbered, cassette=SHARED) as one:
        await one.ask("Chur")
        await one.end()
    found = Cassette.load(studio.path)
    assert len(found.entries) == 3
    assert found.computed == ()


async def test_a_cassette_of_an_earlier_run_is_replayed(studio: Studio) -> None:
    await studio.record(cassette=SHARED)
    began = studio.path.stat().st_mtime + 1
    async with studio.open("once", numbered, cassette={**SHARED, "began": began}) as one:
        assert (await one.call("weather", city="Bern")).observation.provenance == "replayed"


WRITER = """
import asyncio, sys
from pathlib import Path
from tests.cassette.lab import Studio, numbered

async def main():
    studio = Studio(Path(sys.argv[1]))
    async with studio.open("once", numbered, cassette={"shared": True, "began": 0.0}) as one:
        for number in range(5):
            await one.ask(f"{sys.argv[2]}-{number}")
        await one.end()

asyncio.run(main())
"""


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(studio: Studio) -> None:
    root = Path(__file__).resolve().parents[2]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(studio.path), name], cwd=root, stderr=subprocess.PIPE
        )
        for name in ("a", "b", "c")
    ]
    for writer in writers:
        _, error = writer.communicate(timeout=120)
        assert writer.returncode == 0, error.decode()
    found = Cassette.load(studio.path)
    assert len(found.entries) == 15
