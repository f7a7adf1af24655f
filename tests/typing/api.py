"""What users' type checkers see. Checked by pyright, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

from agentworld_fixtures import SimWorld
from agentworld_sim import (
    BoundTool,
    MemoryStore,
    Observation,
    PostgresStore,
    Provenance,
    Scenario,
    SqliteStore,
    ToolCall,
    Trajectory,
    Turn,
    World,
    WorldState,
    WorldStore,
    bind,
)
from agentworld_sim.diff import StateDiff


async def worlds() -> None:
    world = await World.create(Scenario.load("failing-test"), seed=1)
    assert_type(world, World)
    turn = await world.step(ToolCall("bash", {"command": "ls"}), at=world.ref)
    assert_type(turn, Turn)
    assert_type(turn.observation, Observation)
    assert_type(turn.observation.provenance, Provenance)
    assert_type(turn.ref, str)
    assert_type(await world.fork(seed=2), World)
    assert_type(await world.diff(), StateDiff)
    assert_type(await world.patch(), str)
    assert_type(await world.rewind(), None)
    assert_type(await world.state(), WorldState)
    assert_type(await world.trajectory(), Trajectory)
    assert_type(await world.read_file("/etc/hostname"), bytes)
    async with await World.open("id", store=MemoryStore()) as opened:
        assert_type(opened, World)


def stores() -> None:
    every: list[WorldStore] = [
        MemoryStore(),
        SqliteStore(Path("w.sqlite")),
        PostgresStore("postgresql:///worlds"),
    ]
    del every


async def binding(world: World) -> None:
    def search(query: str) -> str: ...

    tools = bind(world, [search])
    assert_type(tools, list[BoundTool])
    assert_type(await tools[0]({"query": "x"}), str)
    assert_type(await tools[0].observe("{}", id="1"), Observation)
    assert_type(bind(tools[0]), list[BoundTool])


def in_tests(world: SimWorld) -> None:
    assert_type(world.world, World)
    assert_type(world.call("bash", command="ls"), Observation)
    assert_type(world.calls("bash"), list[Turn])
    assert_type(world.assert_called("bash", args={"command": ...}, times=1), None)
    assert_type(world.assert_order("Read", ("Edit", {"file_path": "x"})), None)
    assert_type(world.assert_state(files={"a": None}, tables={"t": 1}), None)
    assert_type(world.fork(seed=1), SimWorld)
    assert_type(world.fail("bash", error="no").fired, int)
    assert_type(world.tables()["t"], list[dict[str, Any]])
    assert_type(world.read_text("a"), str)
    assert_type(bind(world), list[BoundTool])
