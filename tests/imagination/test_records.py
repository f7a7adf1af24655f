"""Tools that cannot be computed, in a world that keeps records: the model sees them and may change them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.errors import UnusableReply
from agentworld_sim.llm.scripted import ModelRequest, ScriptedReply

from .conftest import Open

ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "title": {"type": "string"},
        "state": {"enum": ["open", "closed"]},
    },
    "required": ["id", "title", "state"],
}


def _takes(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


CREATE = ToolSpec(
    name="create_issue",
    input_schema=_takes(title={"type": "string"}),
    output_schema=ISSUE,
    domain="mcp",
)
GET = ToolSpec(
    name="get_issue",
    input_schema=_takes(issue_id={"type": "integer"}),
    output_schema=ISSUE,
    domain="mcp",
)
TRIAGE = ToolSpec(
    name="triage",
    description="Decides what becomes of each issue.",
    input_schema={"type": "object", "properties": {"mood": {"type": "string"}}},
    domain="mcp",
)
SUMMARY = ToolSpec(
    name="summary", input_schema=TRIAGE.input_schema, annotations={"readOnlyHint": True}
)
TOOLS = (CREATE, GET, TRIAGE, SUMMARY)
SCENARIO = Scenario.parse(
    """
    name: tracker
    domains: [mcp]
    tables:
      issues:
        records:
          - {id: 1, title: Crash at start, state: open}
          - {id: 2, title: Typo in the manual, state: open}
    """
)
CLOSED = {"id": 1, "title": "Crash at start", "state": "closed"}


def said(result: object, *operations: dict[str, Any]) -> ScriptedReply:
    answer = {"result": result, "operations": list(operations)}
    return ScriptedReply.observation(json.dumps(answer))


async def issue(world: World, number: int) -> Any:
    turn = await world.step(ToolCall("get_issue", {"issue_id": number}))
    return turn.observation.structured


async def test_the_model_sees_the_records_and_its_writes_are_kept(imagining: Open) -> None:
    replies = [
        said("Closed 1 issue.", {"kind": "put", "table": "issues", "record": CLOSED}),
        said("Nothing left.", {"kind": "delete", "table": "issues", "key": 2}),
    ]
    opened = await imagining(replies, tools=TOOLS, scenario=SCENARIO)
    world = opened.world
    turn = await world.step(ToolCall("triage", {"mood": "strict"}))
    assert turn.observation.text == "Closed 1 issue."
    assert turn.observation.provenance == "imagined"
    assert await issue(world, 1) == CLOSED
    created = await world.step(ToolCall("create_issue", {"title": "New"}))
    assert created.observation.structured == {"id": 3, "title": "New", "state": "open"}
    await world.step(ToolCall("triage"))
    gone = await world.step(ToolCall("get_issue", {"issue_id": 2}))
    assert gone.observation.is_error
    first, second = opened.server.requests
    assert '"title":"Typo in the manual"' in first.last_user.replace(": ", ":")
    assert '"state":"closed"' in second.last_user.replace(": ", ":")
    # The view stands in the last message only.
    assert second.last_user.count("**Records:**") == 1
    assert str(second.body["messages"][:-1]).count("**Records:**") == 0


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"kind": "put", "table": "isues", "record": CLOSED}, "isues"),
        ({"kind": "put", "table": "issues", "record": {**CLOSED, "state": "gone"}}, "gone"),
        ({"kind": "delete", "table": "issues", "key": 77}, "77"),
        ({"kind": "drop", "table": "issues"}, "operations"),
    ],
)
async def test_an_operation_that_cannot_be_is_asked_for_again_with_the_reason(
    imagining: Open, operation: dict[str, Any], reason: str
) -> None:
    replies = [said("Done.", operation), said("Done at last.")]
    opened = await imagining(replies, tools=TOOLS, scenario=SCENARIO)
    turn = await opened.world.step(ToolCall("triage"))
    assert turn.observation.text == "Done at last."
    assert turn.change.values == {}
    again = opened.server.requests[1].last_user
    assert reason in again.partition("could not be used:")[2]


async def test_a_tool_that_only_reads_and_a_call_that_fails_change_nothing(
    imagining: Open,
) -> None:
    put = {"kind": "put", "table": "issues", "record": CLOSED}
    failed = {"content": [{"type": "text", "text": "Not allowed."}], "isError": True}

    def script(request: ModelRequest) -> ScriptedReply:
        return said(failed if '"name": "triage"' in request.last_user else "Two.", put)

    opened = await imagining(script, tools=TOOLS, scenario=SCENARIO)
    root = opened.world.ref
    for name in ("summary", "triage"):
        with pytest.raises(UnusableReply, match="`operations` is not empty"):
            await opened.world.step(ToolCall(name))
    assert opened.world.ref == root


async def test_a_model_that_answers_as_it_was_trained_writes_nothing(imagining: Open) -> None:
    opened = await imagining(
        [ScriptedReply.observation("All is well.")],
        tools=TOOLS,
        scenario=SCENARIO,
        server={"structured_output": False},
    )
    turn = await opened.world.step(ToolCall("triage"))
    assert (turn.observation.text, turn.change.values) == ("All is well.", {})


async def test_what_the_model_wrote_is_there_in_a_fork_and_not_before(imagining: Open) -> None:
    put = {"kind": "put", "table": "issues", "record": CLOSED}
    opened = await imagining([said("Closed.", put)], tools=TOOLS, scenario=SCENARIO)
    world = opened.world
    before = await world.fork()
    await world.step(ToolCall("triage"))
    after = await world.fork()
    assert (await issue(before, 1))["state"] == "open"
    assert (await issue(after, 1))["state"] == "closed"
