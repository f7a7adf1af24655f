"""The order of a record's fields is the scenario's, also when the world is opened again."""

from __future__ import annotations

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.store import MemoryStore

SCENARIO = Scenario.parse(
    """
    name: tracker
    domains: [mcp]
    tables:
      issues:
        fields:
          title: {type: string}
          id: {type: integer}
          body: {type: string}
        records:
          - {title: Crash at start, id: 1, body: It stops.}
    """
)
GET = ToolSpec(
    name="get_issue",
    input_schema={
        "type": "object",
        "properties": {"issue_id": {"type": "integer"}},
        "required": ["issue_id"],
    },
    domain="mcp",
)
LIST = ToolSpec(name="list_issues", domain="mcp")


async def test_a_world_that_is_opened_again_writes_records_as_before() -> None:
    store = MemoryStore()
    world = await World.create(SCENARIO, id="w", store=store)
    world.add_tools([GET, LIST])
    call = ToolCall("get_issue", {"issue_id": 1})
    first = await world.step(call)
    again = await World.open("w", store=store)
    again.add_tools([GET, LIST])
    second = await again.step(call)
    assert first.observation.text.index("title") < first.observation.text.index("body")
    assert second.observation.text == first.observation.text
