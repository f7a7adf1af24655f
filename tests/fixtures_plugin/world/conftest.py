"""Worlds with assertions, without the plugin around them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from agentworld_fixtures._sim_world import FaultList, SimWorld
from agentworld_sim import Scenario, World
from agentworld_sim.runtime.sync import run_sync
from tests.fixtures_plugin.world.types_of_fixtures import Failure, Open

FILES = {"README.md": "# Notes\n", "src/app.sh": "echo one\necho two\n", "data/a.csv": "1\n2\n"}


@pytest.fixture
def opened() -> Generator[Open]:
    """Opens worlds: a machine with three files by default."""
    worlds: list[SimWorld] = []

    def make(**scenario: Any) -> SimWorld:
        document: dict[str, Any] = {
            "name": "machine",
            "domains": ["terminal", "swe"],
            "machine": {"workdir": "/srv/app"},
            "files": {f"/srv/app/{path}": text for path, text in FILES.items()},
            **scenario,
        }
        faults = FaultList()
        made = Scenario.model_validate(document)
        world = run_sync(World.create(made, controls=[faults]))
        worlds.append(SimWorld(world, faults))
        return worlds[-1]

    yield make
    for world in worlds:
        run_sync(world.close_forks())
        run_sync(world.world.close())


@pytest.fixture
def sim(opened: Open) -> SimWorld:
    return opened()


@pytest.fixture
def desk(opened: Open) -> SimWorld:
    """A world with a table of tickets."""
    number = {"type": "integer"}
    text = {"type": "string"}
    ticket = {"type": "object", "properties": {"id": number, "title": text, "state": text}}
    title = {"type": "object", "properties": {"title": text}, "required": ["title"]}
    one = {"type": "object", "properties": {"id": number}, "required": ["id"]}
    many = {"type": "object", "properties": {"tickets": {"type": "array", "items": ticket}}}
    none: dict[str, Any] = {"type": "object", "properties": {}}
    tools: list[dict[str, Any]] = [
        {"name": "create_ticket", "input_schema": title, "output_schema": ticket},
        {"name": "get_ticket", "input_schema": one, "output_schema": ticket},
        {"name": "list_tickets", "input_schema": none, "output_schema": many},
        {"name": "delete_ticket", "input_schema": one},
    ]
    rows = [
        {"id": 1, "title": "Printer", "state": "open"},
        {"id": 2, "title": "Door", "state": "done"},
    ]
    return opened(
        domains=["mcp"],
        tools=[{**tool, "domain": "mcp"} for tool in tools],
        tables={"tickets": {"key": "id", "records": rows}},
    )


@pytest.fixture
def failure() -> Failure:
    """The lines of the failure of an assertion."""

    def lines(assertion: Callable[[], object]) -> list[str]:
        with pytest.raises(AssertionError) as error:
            assertion()
        return str(error.value).split("\n")

    return lines
