"""The committed pocket world model, served by the real vLLM and used as any world model is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentworld_sim import ToolCall, Turn, World
from agentworld_sim.bench.transitions import RecordedCall, RecordedSession, TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.types.tools import ToolSpec
from experiments.pocket.world import TOOL, scenario
from tests.vllm.server import ROOT, VllmServer, serve

POCKET = ROOT / "fixtures" / "pocket-world"

SESSIONS: Mapping[str, tuple[str, ...]] = {
    "write-in-folder": (
        *("mkdir attic", "cd attic", "echo moss > newt", "cat newt"),
        *("cd ..", "cat attic/newt"),
    ),
    "copy-into-folder": (
        *("echo oak > lion", "mkdir mill", "cp lion mill", "ls mill"),
        "cat mill/lion",
    ),
    "copy-then-overwrite": (
        *("echo hail > crab", "cp crab hen", "echo palm > crab", "cat hen"),
        "cat crab",
    ),
}
"""Sessions of held-out templates that the committed model gets right; not all are, see its card."""


@pytest.fixture(scope="module")
def pocket_server() -> Generator[VllmServer]:
    with serve(model=POCKET, name="pocket-world", context=1024) as server:
        yield server


@pytest.fixture
async def worlds(pocket_server: VllmServer) -> AsyncIterator[tuple[World, World]]:
    """One world that the pocket model imagines, and an equal one that the shell computes."""
    settings = ModelSettings(
        url=pocket_server.url,
        api_key=pocket_server.api_key,
        prompts=POCKET / "prompts",
        temperature=0.0,
        top_p=1.0,
        top_k=-1,
        max_tokens=200,
        reasks=0,
    )
    async with AsyncExitStack() as stack:
        model = WorldModel(settings)
        first = await stack.enter_async_context(
            await World.create(scenario({}, imagined=True), model=model)
        )
        second = await stack.enter_async_context(await World.create(scenario({}), model=False))
        yield first, second


@pytest.mark.parametrize("name", SESSIONS)
async def test_a_held_out_session_is_answered_as_the_shell_computes_it(
    worlds: tuple[World, World], name: str
) -> None:
    imagined, computed = worlds
    for command in SESSIONS[name]:
        call = ToolCall("bash", {"command": command})
        answer, truth = await imagined.step(call), await computed.step(call)
        assert (command, answer.observation.text) == (command, truth.observation.text)
        assert_imagined(answer)


async def recorded_sessions() -> TransitionSet:
    """A bench made on the spot: what the shell says in these sessions. Which files they change is not told."""
    found = TransitionSet()
    for name, commands in SESSIONS.items():
        async with await World.create(scenario({}), model=False) as world:
            said = [await world.step(ToolCall("bash", {"command": one})) for one in commands]
        calls = [
            RecordedCall(call=one.call, observation=one.observation, changes={}) for one in said
        ]
        found.sessions.append(
            RecordedSession(
                source="pocket",
                task=name,
                tools=(ToolSpec.from_json(TOOL),),
                keys={},
                initial={},
                calls=tuple(calls),
                has_state=False,
            )
        )
    return found


def test_the_bench_makes_asks_counts_and_learns(pocket_server: VllmServer, tmp_path: Path) -> None:
    made = asyncio.run(recorded_sessions())
    made.write(tmp_path / "pocket.jsonl")

    def call(*arguments: object) -> str:
        environment = {"AGENTWORLD_API_KEY": pocket_server.api_key}
        words = ["bench", *map(str, arguments)]
        done = CliRunner(env=environment).invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    run = tmp_path / "run.jsonl"
    call(
        # One tool alone is on one side: the one whose tools were never seen.
        *("run", tmp_path / "pocket.jsonl", "--output", run, "--side", "unseen"),
        *("--model-url", pocket_server.url, "--prompts", POCKET / "prompts"),
        *("--no-records", "--max-tokens", 200, "--reasks", 0),
    )
    (asked,) = (one["right"] for one in json.loads(call("report", run, "--json")).values())
    assert asked["count"] == sum(map(len, SESSIONS.values()))
    # It samples here, and gets nearly all of these sessions right at its most probable tokens.
    assert asked["share"] >= 60
    counts = json.loads(call("thinking", run, "--json"))
    assert counts["traces"] == asked["count"]
    assert counts["self-correction"]["share"] == 0
    assert "fitted on" in call("calibrate", run, "--output", tmp_path / "sure.json")


def assert_imagined(turn: Turn) -> None:
    """It came from the model, thought first, in the tag, and every check accepted it."""
    assert turn.observation.provenance == "imagined"
    (asked,) = turn.exchanges
    assert asked.tagged and asked.thinking
    assert asked.finish_reason == "stop"
    assert all(verdict.accepted for verdict in turn.checks)
