"""Servers that share a world share its files and its clock, and each has tables of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentworld_mcp_shim._explanation import explain_world
from agentworld_mcp_shim._listing import Listing, Pages
from agentworld_mcp_shim._mirror import Mirror
from agentworld_mcp_shim._mirrors import mirrors_of
from agentworld_mcp_shim._settings import ShimSettings
from agentworld_mcp_shim._snapshot_file import save_snapshot
from agentworld_mcp_shim._targets import SERVER_VARIABLE, targets_of
from agentworld_mcp_shim._worlds import WorldChoice, WorldOpener
from agentworld_mcp_shim.wrapping import WrapChoice, wrap_text
from agentworld_sim import ToolCall, UsageError, World
from agentworld_sim.store import MemoryStore

LISTINGS = Path(__file__).parents[1] / "data" / "listings"
SERVERS = {"github": "issue_tracker", "gitlab": "issue_tracker", "my board": "board"}
ISSUE: Mapping[str, Any] = {"owner": "ada", "repo": "shop"}


@pytest.fixture
def snapshots(tmp_path: Path) -> dict[str, str]:
    """A snapshot file by server."""
    files: dict[str, str] = {}
    for name, listing in SERVERS.items():
        tools = json.loads((LISTINGS / f"{listing}.json").read_text())["tools"]
        pages: dict[str, Pages] = {"tools/list": {None: {"tools": tools}}}
        file = tmp_path / f"{name}.json"
        save_snapshot(file, Listing(identity={"name": "it"}, lists=pages))
        files[name] = str(file)
    return files


def wrapped() -> dict[str, str]:
    """What each server of one configuration file is called in its environment, once it is wrapped."""
    text = json.dumps({"mcpServers": {name: {"command": "it"} for name in SERVERS}})
    choice = WrapChoice(interpreter=sys.executable, world="lab")
    servers = json.loads(wrap_text(text, Path("/x/.mcp.json"), choice).text)["mcpServers"]
    assert {one["env"]["AGENTWORLD_WORLD"] for one in servers.values()} == {"lab"}
    return {name: one["env"][SERVER_VARIABLE] for name, one in servers.items()}


async def mirror(snapshot: str, server: str | None = None) -> Mirror:
    """What a shim in front of one server shows."""
    targets = targets_of(snapshots=[snapshot], server=server)
    return (await mirrors_of(ShimSettings(targets=targets), {}))[""]


async def seated(store: MemoryStore, mirror: Mirror) -> World:
    """The world as one shim opens it."""
    return await mirror.bind(await World.open("lab", store=store), mirror.specs({}))


async def called(world: World, mirror: Mirror, name: str, **arguments: Any) -> str:
    turn = await world.step(ToolCall(mirror.tools[name].world_name, {**ISSUE, **arguments}))
    assert not turn.observation.is_error
    return turn.observation.text


async def test_a_wrapped_server_does_not_see_the_records_of_another(
    snapshots: dict[str, str],
) -> None:
    store, names = MemoryStore(), wrapped()
    assert names["my board"] == "my-board"
    await (await World.create(id="lab", store=store)).close()
    github = await mirror(snapshots["github"], names["github"])
    gitlab = await mirror(snapshots["gitlab"], names["gitlab"])
    async with await seated(store, github) as world:
        await called(world, github, "create_issue", title="Only at GitHub")
    async with await seated(store, gitlab) as world:
        assert "Only at GitHub" not in await called(world, gitlab, "list_issues")
        await called(world, gitlab, "create_issue", title="Only at GitLab")
    async with await seated(store, github) as world:
        listed = await called(world, github, "list_issues")
    assert "Only at GitHub" in listed
    assert "Only at GitLab" not in listed


async def test_explain_shows_the_tables_and_first_records_that_wrapped_servers_have(
    snapshots: dict[str, str],
) -> None:
    given = [f"{name}={snapshots[shown]}" for shown, name in wrapped().items()]
    together = (await mirrors_of(ShimSettings(targets=targets_of(snapshots=given)), {}))[""]
    async with await together.bind(await World.create(), together.specs({})) as world:
        shown = explain_world(world, dict.fromkeys(world.tools), {})
    running: dict[str, int] = {}
    for name, server in wrapped().items():
        own = await mirror(snapshots[name], server)
        async with await own.bind(await World.create(), own.specs({})) as world:
            explanation = explain_world(world, dict.fromkeys(world.tools), {})
            tables = {one.table.name: one.records for one in explanation.tables}
            assert all(table.startswith(f"{server}__") for table in tables)
            running |= tables
    assert {one.table.name: one.records for one in shown.tables} == running


async def test_a_server_that_has_the_world_to_itself_keeps_the_names_of_its_tables(
    snapshots: dict[str, str],
) -> None:
    for named in (snapshots["github"], f"github={snapshots['github']}"):
        alone = await mirror(named)
        async with await alone.bind(await World.create(), alone.specs({})) as world:
            tables = explain_world(world, dict.fromkeys(world.tools), {}).tables
        assert "issues" in {one.table.name for one in tables}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"upstreams": ["a=x", "b=y"]}, "--server 'git' names one upstream, and 2 are given."),
        ({}, "--server 'git' names one upstream, and none is given."),
    ],
)
def test_a_server_is_one_upstream(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        targets_of(**arguments, server="git", environ={})
    assert str(caught.value).startswith(message)


def test_a_name_that_tables_cannot_have_is_refused() -> None:
    with pytest.raises(UsageError, match="--server 'a__b': A name has letters, digits"):
        targets_of(["x"], server="a__b", environ={})


async def test_an_empty_world_begins_without_records_and_stays_so_when_it_is_reopened(
    snapshots: dict[str, str], tmp_path: Path
) -> None:
    github = await mirror(snapshots["github"])
    for empty in (True, False):
        opener = WorldOpener(WorldChoice(store=str(tmp_path / "worlds.sqlite"), empty=empty))
        async with await github.bind(await opener.open("lab"), github.specs({})) as world:
            assert json.loads(await called(world, github, "list_issues")) == []
        await opener.close()
