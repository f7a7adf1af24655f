"""A `WorldSpec` opens the same world in any process, and carries no secret there."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from agentworld_sim import (
    ModelSettings,
    Scenario,
    SqliteStore,
    ToolCall,
    UnknownWorldError,
    UsageError,
    World,
    WorldModel,
    WorldRef,
    WorldSpec,
)
from agentworld_sim.controls import Control
from agentworld_sim.runtime.sync import run_sync

URL = "http://127.0.0.1:9/v1"
LOOK = ToolCall("Bash", {"command": "cat /srv/a.txt; echo $RANDOM"})


def scenario() -> Scenario:
    return Scenario.model_validate(
        {"name": "a", "domains": ["swe"], "files": {"/srv/a.txt": "hello\n"}, "seed": 3}
    )


def spec_of(**fields: Any) -> WorldSpec:
    given: dict[str, Any] = {"scenario": scenario(), "model": False, **fields}
    return WorldSpec(**given)


ELSEWHERE = """
import asyncio, pickle, sys
from agentworld_sim.types import ToolCall
spec, name, arguments = pickle.load(sys.stdin.buffer)
async def look():
    async with await spec.open() as world:
        print((await world.step(ToolCall(name, arguments))).ref)
asyncio.run(look())
"""


async def test_a_new_world_of_a_spec_is_the_one_that_create_makes() -> None:
    made = World.create(scenario(), seed=5, model=False)
    async with await spec_of(seed=5).open() as one, await made as other:
        assert one.root == other.root
        assert (await one.step(LOOK)).ref == (await other.step(LOOK)).ref


def test_a_spec_opens_the_same_world_in_another_process() -> None:
    given = pickle.dumps((spec_of(), LOOK.name, LOOK.arguments))
    command = [sys.executable, "-c", ELSEWHERE]
    there = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout
    here = run_sync(run_sync(spec_of().open()).step(LOOK))
    assert there.decode().strip() == here.ref


async def test_a_world_that_has_begun_is_opened_at_its_ref(tmp_path: Path) -> None:
    where = tmp_path / "worlds.sqlite"
    async with await World.create(scenario(), store=SqliteStore(where), model=False) as world:
        first = await world.step(ToolCall("Bash", {"command": "echo one > /srv/a.txt"}))
        await world.step(ToolCall("Bash", {"command": "echo two > /srv/a.txt"}))
    spec = WorldSpec(id=world.id, ref=first.ref, store=str(where), model=False)
    async with await pickle.loads(pickle.dumps(spec)).open() as again:
        assert again.ref == first.ref
        assert await again.read_file("/srv/a.txt") == b"one\n"
    with pytest.raises(UnknownWorldError):
        await WorldSpec(id="gone", store=str(where), model=False).open()


def test_a_key_is_named_and_never_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-secret")
    spec = spec_of(model=ModelSettings(url=URL, api_key="sk-secret"))
    assert spec.key_variable == "AGENTWORLD_API_KEY"
    assert b"sk-secret" not in pickle.dumps(spec) and "sk-secret" not in repr(spec)


async def test_the_key_comes_from_the_environment_where_the_world_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = spec_of(model=ModelSettings(url=URL, temperature=0.2), key_variable="OTHER_KEY")
    with pytest.raises(UsageError, match="OTHER_KEY is not set here"):
        await spec.open()
    monkeypatch.setenv("OTHER_KEY", "sk-there")
    async with await spec.open() as world:
        model = cast("WorldModel", world.model)
        assert (model.settings.api_key, model.settings.temperature) == ("sk-there", 0.2)


async def test_a_model_without_a_key_is_sent_none_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-of-another-server")
    async with await spec_of(model=ModelSettings(url=URL)).open() as world:
        assert cast("WorldModel", world.model).settings.api_key == ""


class Own:
    """A control that is a Python object."""


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a key that no variable holds": (
        {"model": ModelSettings(url=URL, api_key="sk-x")},
        "carries no API key.*AGENTWORLD_API_KEY does not hold this one",
    ),
    "a python control": (
        {"controls": [cast("Control", Own())]},
        "is a Python object of this process",
    ),
    "a ref without an id": ({"ref": WorldRef("x")}, "give the world's id"),
    "an id without a store": ({"scenario": None, "id": "w"}, "is looked for in a store"),
    "a scenario of a world that has begun": (
        {"id": "w", "store": "w.sqlite"},
        "has begun: its scenario, seed and controls",
    ),
    "a password": ({"store": "postgresql://u:secret@h/db"}, "holds a password.*PGPASSWORD"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_cross_processes_is_refused_at_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTWORLD_API_KEY", raising=False)
    fields, message = REFUSED[name]
    with pytest.raises(UsageError, match=message) as error:
        spec_of(**fields)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("name", ["kind", "name"])
def test_a_declared_control_that_no_scenario_could_ask_for_is_refused_at_once(name: str) -> None:
    fault = {"kind": "fault", "name": "f", "tool": "Bash"}
    controls = [{**fault, "kind": "no-such-control"}] if name == "kind" else [fault]
    own = Scenario.model_validate({"name": "a", "domains": ["swe"], "controls": [fault]})
    with pytest.raises(UsageError, match="the controls of the WorldSpec cannot be used"):
        spec_of(scenario=own, controls=controls)
