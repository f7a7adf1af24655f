"""The committed pocket world model, served by the real vLLM and used as any world model is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import AsyncExitStack

import pytest

from agentworld_sim import ToolCall, Turn, World
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from experiments.pocket.world import scenario
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


def assert_imagined(turn: Turn) -> None:
    """It came from the model, thought first, in the tag, and every check accepted it."""
    assert turn.observation.provenance == "imagined"
    (asked,) = turn.exchanges
    assert asked.tagged and asked.thinking
    assert asked.finish_reason == "stop"
    assert all(verdict.accepted for verdict in turn.checks)
