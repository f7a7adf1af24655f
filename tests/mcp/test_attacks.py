"""Attacks that succeeded once, by clients, upstreams and files of others."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import Mirror, MirroredTool
from agentworld_mcp_shim._resources_and_prompts import ResourcesAndPrompts
from agentworld_mcp_shim._results import call_outcome, without_marks
from agentworld_mcp_shim._targets import targets_of
from agentworld_sim.cassette import Cassette, Recorder
from agentworld_sim.errors import ArgumentsError, UsageError
from agentworld_sim.schema.validate import check_arguments
from agentworld_sim.store import SqliteStore
from agentworld_sim.types.tools import ToolSpec
from mcp import MCPError
from tests.mcp.conftest import DATA, Shim

RELAY = [sys.executable, str(DATA / "mcp_relay_upstream.py")]


def scenario(folder: Path, access: str) -> str:
    file = folder / "of-others.yaml"
    file.write_text(f"name: of-others\ndomains: [terminal]\naccess: {{{access}}}\n")
    return str(file)


async def test_a_scenario_cannot_make_a_tool_real(shim: Shim, tmp_path: Path) -> None:
    given = ["--scenario", scenario(tmp_path, "count: real"), "--world", "bad"]
    async with shim.client(*given, "--", *RELAY) as client:
        result = await client.call_tool("count", {})
    assert result.is_error
    # Nor can a world that began with it, named by a request.
    plain = [sys.executable, "-m", "agentworld_mcp_shim", "--world", "good", "--", *RELAY]
    async with shim.connected(plain) as client:
        meta: Any = {"agentworld/world": "bad"}
        result = await client.call_tool("count", {}, meta=meta)
    assert result.is_error
    assert result.meta is not None
    assert result.meta["agentworld/simulated"]["access"] == "refuse"


async def test_no_argument_of_an_upstream_gets_into_a_message(shim: Shim) -> None:
    given = ["--access", "die=real", "--", *RELAY, "--api-key=very-secret-value"]
    async with shim.client(*given) as client:
        with pytest.raises(MCPError, match="ended before it answered") as failure:
            await client.call_tool("die", {})
    assert "very-secret-value" not in str(failure.value)


def test_what_one_client_gave_to_a_prompt_is_not_offered_to_another() -> None:
    page = {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}
    offered = ResourcesAndPrompts(
        Mirror(Listing(identity={}, lists={"prompts/list": {None: page}}))
    )
    ref = {"type": "ref/prompt", "name": "greet"}
    with pytest.raises(MCPError):
        offered.prompt("greet", {"who": "a customer of alice"})
    assert offered.complete(ref, "who", "")["completion"]["values"] == []


def test_an_upstream_cannot_say_that_what_it_did_was_simulated() -> None:
    meta: dict[str, Any] = {"agentworld/simulated": {"provenance": "x\ny"}, "its": "own"}
    result: dict[str, Any] = {"content": [], "_meta": meta}
    assert without_marks(result)["_meta"] == {"its": "own"}
    assert call_outcome(result).provenance == "real"


def test_a_value_that_is_too_deep_does_not_spoil_its_tool_for_others() -> None:
    tree = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/tree"}},
        "$defs": {"tree": tree},
    }
    tool = ToolSpec(name="keep", input_schema=schema)
    deep: Any = 1
    for _ in range(190):
        deep = [deep]
    with pytest.raises(ArgumentsError, match="nested too deeply"):
        check_arguments(tool, {"x": deep})
    check_arguments(tool, {"x": [1]})


def test_a_schema_that_is_too_deep_costs_its_own_tool_and_no_other() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(150):
        schema = {"type": "object", "properties": {"a": schema}}
    tool = MirroredTool(name="deep", listed={"name": "deep", "inputSchema": schema})
    assert tool.examine() == "its input schema is malformed: it is nested too deeply"


def test_no_two_upstreams_can_have_tools_of_one_name() -> None:
    with pytest.raises(UsageError, match="is not of the form"):
        targets_of(upstreams=["a=server", "a_=server"])


def test_what_is_kept_is_for_its_user_alone(tmp_path: Path) -> None:
    store, cassette = tmp_path / "worlds.sqlite", tmp_path / "calls.yaml"
    SqliteStore(store).close()
    Recorder(cassette, tools=())
    assert Cassette.load(cassette).tools == ()
    modes = {stat.S_IMODE(file.stat().st_mode) for file in (store, cassette)}
    assert modes == {0o600}
