import asyncio
from collections.abc import Iterator

import pytest

from agentworld_sim import Observation, ToolCall, ToolSpec, World
from agentworld_sim.llm.scripted import ScriptedModelServer


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    """The model of every world that the test makes."""
    with ScriptedModelServer(["In Utrecht, arrives tomorrow."]) as server:
        monkeypatch.setenv("AGENTWORLD_MODEL_URL", server.url)
        yield server


async def where_is(number: str) -> Observation:
    async with await World.create() as world:
        world.add_tools([ToolSpec(name="track_parcel")])
        turn = await world.step(ToolCall("track_parcel", {"number": number}))
        return turn.observation


def test_a_parcel_is_on_its_way(model: ScriptedModelServer) -> None:
    answer = asyncio.run(where_is("7"))
    assert (answer.text, answer.provenance) == ("In Utrecht, arrives tomorrow.", "imagined")
    (request,) = model.requests
    assert '"number": "7"' in request.last_user
    assert model.remaining == 0


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q", "-p", "no:cacheprovider"]))
