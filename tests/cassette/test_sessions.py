"""Whatever a session does: recorded and replayed, it says the same and leaves the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import ToolSpec, World
from agentworld_sim.cassette import CassetteMode, CassetteReport
from agentworld_sim.llm.scripted import ModelRequest, Reply, ScriptedReply
from tests.cassette.lab import Answering, Recording, Studio, command
from tests.imagination.test_records import CLOSED, SCENARIO, TOOLS, said
from tests.properties import examples

SCRIPTS = (
    "tool",
    "tool -a | sort; echo $RANDOM >> log",
    "cat log | tool",
    "echo done > a.txt; tool -b && tool",
    "cd /tmp; tool",
    "ls; cat a.txt",
    "for i in 1 2; do git commit -m $i; done",
)

Move = tuple[str, Any, int]
moves = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(["Bern", "Basel"]), st.integers(0, 3)),
        st.tuples(st.just("book"), st.sampled_from(["Bern", "Chur"]), st.integers(0, 3)),
        st.tuples(st.just("bash"), st.sampled_from(SCRIPTS), st.integers(0, 3)),
        st.tuples(st.just("fork"), st.none() | st.integers(0, 2), st.integers(0, 3)),
        st.tuples(st.just("together"), st.sampled_from(SCRIPTS), st.integers(0, 3)),
        st.tuples(st.just("back"), st.none(), st.integers(0, 3)),
    ),
    max_size=9,
)


def changing(request: ModelRequest) -> Reply:
    """Another answer to each request; commands change files."""
    number = request.index
    if "argv:" not in request.last_user:
        return ScriptedReply.observation(f"answer {number}")
    wrote = {"kind": "write", "path": f"/srv/app/f{number % 3}", "content": f"{number}\n"}
    return command(f"line {number}\n", *([wrote] if number % 2 else []))


class Session:
    """A session of moves."""

    def __init__(self, one: Recording) -> None:
        self._one = one
        self._worlds = [one.world]
        self.said: list[str] = []

    async def run(self, moves: list[Move]) -> list[Any]:
        for kind, what, where in moves:
            await self._move(kind, what, self._worlds[where % len(self._worlds)])
        states = [await world.state() for world in self._worlds]
        files = [{path: one.to_json() for path, one in state.files.items()} for state in states]
        return [self.said, files, [world.ref for world in self._worlds]]

    async def _move(self, kind: str, what: Any, world: World) -> None:
        one = self._one
        if kind == "ask":
            self.said.append(await one.ask(what, world))
        elif kind == "book":
            turn = await one.call("book", world, city=what, password="correct-horse")
            self.said.append(turn.observation.text)
        elif kind == "bash":
            self.said.append(await one.bash(what, world))
        elif kind == "fork":
            self._worlds.append(await world.fork(seed=what))
        elif kind == "together":
            self.said += await asyncio.gather(*(one.bash(what, each) for each in self._worlds))
        else:
            turns = (await world.trajectory()).turns
            at = turns[len(turns) // 2].ref if turns else world.root
            self._worlds.append(await world.fork(at=at))


async def _played(studio: Studio, mode: Any, moves: list[Move]) -> tuple[list[Any], CassetteReport]:
    async with studio.open(mode, changing if mode == "once" else None) as one:
        outcome = await Session(one).run(moves)
        return outcome, await one.end()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves)
def test_a_recorded_session_is_replayed_to_the_letter(
    loop: asyncio.Runner, moves: list[Move]
) -> None:
    with TemporaryDirectory() as folder:
        studio = Studio(Path(folder) / "c.yaml")
        recorded, _ = loop.run(_played(studio, "once", moves))
        asked = studio.asked
        replayed, report = (
            loop.run(_played(studio, "replay", moves)) if studio.path.exists() else (recorded, None)
        )
    assert replayed == recorded
    assert studio.asked == asked
    assert report is None or report.unused == ()


def saying(reply: Reply | str) -> Answering:
    """Says the same to everything."""

    def answering(request: ModelRequest) -> Reply | str:
        return reply

    return answering


async def test_imagined_pages_of_a_browser_are_replayed(tmp_path: Path) -> None:
    url = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    tools = (
        ToolSpec(name="navigate_browser", input_schema=url),
        ToolSpec(name="extract_text", input_schema={"type": "object", "properties": {}}),
    )
    page = {"status": 200, "url": "https://example.org/", "html": "<p>Hello</p>"}
    studio = Studio(tmp_path / "c.yaml")
    turns: list[Any] = []
    modes: tuple[CassetteMode, ...] = ("once", "replay")
    for mode in modes:
        answering = saying(json.dumps(page)) if mode == "once" else None
        async with studio.open(mode, answering, tools=tools) as one:
            went = await one.call("navigate_browser", url="https://example.org")
            turns.append((went, (await one.call("extract_text")).observation.text))
            await one.end()
    assert turns[0][1] == turns[1][1] == "Hello"
    assert [turn.observation.provenance for turn, _ in turns] == ["imagined", "replayed"]
    assert turns[0][0].ref == turns[1][0].ref


async def test_records_that_a_model_changed_are_changed_again(tmp_path: Path) -> None:
    studio = Studio(tmp_path / "c.yaml")
    closed = {"kind": "put", "table": "issues", "record": CLOSED}
    outcomes: list[Any] = []
    modes: tuple[CassetteMode, ...] = ("once", "replay")
    for mode in modes:
        answering = saying(said("Closed 1 issue.", closed)) if mode == "once" else None
        async with studio.open(mode, answering, scenario=SCENARIO, tools=TOOLS) as one:
            await one.call("triage", mood="strict")
            found = await one.call("get_issue", issue_id=1)
            made = await one.call("create_issue", title="New")
            outcomes.append((found.observation, made.observation, made.ref))
            await one.end()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0].structured == CLOSED
    assert "changes:" in studio.text
