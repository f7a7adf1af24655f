"""A world may begin with the records that recorded calls of the real server show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentworld_mcp_shim._worlds import with_recorded_records
from agentworld_sim import UsageError
from agentworld_sim.cassette import Recorder
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

if TYPE_CHECKING:
    from conftest import Everything

ID = {"type": "object", "properties": {"ticket_id": {"type": "string"}}, "required": ["ticket_id"]}
TICKET = {
    "type": "object",
    "properties": {"ticket_id": {"type": "string"}, "title": {"type": "string"}},
    "required": ["ticket_id", "title"],
}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "create_ticket",
        "description": "Creates a ticket.",
        "inputSchema": {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        },
        "outputSchema": TICKET,
    },
    {
        "name": "get_ticket",
        "description": "Gets a ticket by its id.",
        "inputSchema": ID,
        "outputSchema": TICKET,
        "annotations": {"readOnlyHint": True},
    },
]


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """One ticket that the real server was asked for."""
    path = tmp_path / "real.jsonl"
    ticket = {"ticket_id": "T-7", "title": "It rains in"}
    specs = [
        ToolSpec(
            name=tool["name"],
            description=tool["description"],
            input_schema=tool["inputSchema"],
            output_schema=tool["outputSchema"],
            domain="mcp",
        )
        for tool in TOOLS
    ]
    Recorder(path, tools=specs).add(
        ToolCall("get_ticket", {"ticket_id": "T-7"}),
        Observation(text=json.dumps(ticket), structured=ticket, provenance="real"),
    )
    return path


def test_a_recorded_record_is_found_in_a_new_world(
    everything: Everything, tmp_path: Path, cassette: Path
) -> None:
    snapshot = tmp_path / "tickets.json"
    snapshot.write_text(
        json.dumps(
            {
                "agentworld_snapshot": 1,
                "server_info": {"name": "tickets", "version": "1"},
                "capabilities": {"tools": {}},
                "lists": {"tools/list": [{"cursor": None, "page": {"tools": TOOLS}}]},
            }
        )
    )
    with everything.shown(
        "legacy", "--seed-from", str(cassette), "--snapshot", str(snapshot)
    ) as wire:
        wire.greet()
        found = wire.ask("tools/call", name="get_ticket", arguments={"ticket_id": "T-7"})
        made = wire.ask("tools/call", name="create_ticket", arguments={"title": "New"})
    assert found["result"]["structuredContent"] == {"ticket_id": "T-7", "title": "It rains in"}
    assert made["result"]["structuredContent"]["title"] == "New"


def test_a_cassette_that_shows_no_records_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    Recorder(path, tools=[ToolSpec(name="get_ticket", input_schema=ID, domain="mcp")])
    with pytest.raises(UsageError, match="its calls show no records"):
        with_recorded_records(None, path)


def test_a_cassette_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        with_recorded_records(None, tmp_path / "nowhere.jsonl")
