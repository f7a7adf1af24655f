"""Every engine keeps the rules, and one that breaks a rule is told which."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from agentworld_sim import FunctionEngine, Observation, Scenario, ToolCall, ToolSpec
from agentworld_sim.cassette import Cassette, Recorder
from agentworld_sim.cassette.replay import ReplayEngine
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.engines.shell import ShellEngine
from agentworld_sim.engines.table import TableEngine
from agentworld_sim.engines.toolkits import ToolkitEngine
from agentworld_sim.engines.web import WebEngine
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer
from agentworld_sim.ports import Answer, Engine, StepContext
from agentworld_sim.testing import check_engine
from agentworld_sim.toolkits import known_tools
from agentworld_sim.types import Blobs, StateChange, WorldState


def known(*ids: str) -> list[ToolSpec]:
    return [known_tools()[one].spec for one in ids]


def issue_tools() -> list[ToolSpec]:
    text, number = {"type": "string"}, {"type": "integer"}
    created = {"type": "object", "properties": {"id": number, "title": text}}

    def tool(name: str, output: Mapping[str, Any], **arguments: Mapping[str, Any]) -> ToolSpec:
        schema = {"type": "object", "properties": arguments, "required": list(arguments)}
        return ToolSpec(name=name, input_schema=schema, output_schema=output, domain="mcp")

    listed = {"type": "object", "properties": {"issues": {"type": "array", "items": created}}}
    return [
        tool("create_issue", created, title=text),
        tool("get_issue", created, id=number),
        tool("list_issues", listed),
        tool(
            "delete_issue",
            {"type": "object", "properties": {"deleted": {"type": "boolean"}}},
            id=number,
        ),
    ]


COUNTER = ToolSpec(name="count", domain="mcp")


def count(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    number = values.get("count", 0) + 1
    return Observation(text=str(number)), {"count": number}


CASES: dict[str, tuple[Callable[[], Engine], list[ToolSpec], list[ToolCall]]] = {
    "shell": (
        ShellEngine,
        known("terminal/bash", "claude-code/Read", "claude-code/Write", "terminal/keystrokes"),
        [
            ToolCall("bash", {"command": "a=1; cd /tmp; echo hi > f; date; echo $RANDOM"}),
            ToolCall("Write", {"file_path": "/tmp/g", "content": "text\n"}),
            ToolCall("keystrokes", {"keystrokes": [{"keystrokes": "ls /tmp\n"}]}),
            ToolCall("Read", {"file_path": "/tmp/f"}),
            ToolCall("bash", {"command": "pwd; echo $a $RANDOM; cat g; sleep 1; date"}),
        ],
    ),
    "toolkits": (
        ToolkitEngine,
        known(
            "memory/create_entities", "memory/read_graph", "sqlite/write_query", "sqlite/read_query"
        )
        + known("sqlite/create_table", "time/get_current_time"),
        [
            ToolCall(
                "create_entities",
                {"entities": [{"name": "Ada", "entityType": "person", "observations": ["a"]}]},
            ),
            ToolCall("create_table", {"query": "CREATE TABLE t (a, b)"}),
            ToolCall("write_query", {"query": "INSERT INTO t VALUES (1, random())"}),
            ToolCall("read_query", {"query": "SELECT * FROM t"}),
            ToolCall("read_graph", {}),
            ToolCall("get_current_time", {"timezone": "Europe/Berlin"}),
        ],
    ),
    "web": (
        WebEngine,
        known(
            *(
                f"playwright-toolkit/{one}"
                for one in ("serve_pages", "navigate_browser", "extract_text")
            )
        ),
        [
            ToolCall("serve_pages", {"pages": {"https://a.test/": {"html": "<p>hello</p>"}}}),
            ToolCall("navigate_browser", {"url": "https://a.test/"}),
            ToolCall("extract_text", {}),
        ],
    ),
    "table": (
        TableEngine,
        issue_tools(),
        [
            ToolCall("create_issue", {"title": "one"}),
            ToolCall("list_issues", {}),
            ToolCall("delete_issue", {"id": 1}),
            ToolCall("get_issue", {"id": 1}),
        ],
    ),
    "function": (
        lambda: FunctionEngine({"count": count}),
        [COUNTER],
        [ToolCall("count"), ToolCall("count"), ToolCall("count")],
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_an_engine_of_the_library_keeps_the_rules(name: str) -> None:
    make, tools, calls = CASES[name]
    await check_engine(make(), tools, calls)


async def test_a_replay_keeps_the_rules(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "calls.yaml", tools=[COUNTER])
    for number in range(3):
        recorder.add(ToolCall("count"), Observation(text=str(number), provenance="real"))
    cassette = Cassette.load(tmp_path / "calls.yaml")
    await check_engine(ReplayEngine(cassette), COUNTER, [ToolCall("count")] * 3)


@pytest.mark.parametrize("domain", ["mcp", "search", "swe"])
async def test_an_imagining_engine_keeps_the_rules(domain: Any) -> None:
    tool = replace(COUNTER, domain=domain)
    with ScriptedModelServer(lambda request: f"answer {len(request.messages)}") as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0))
        await check_engine(ModelEngine(model.imaginer()), tool, [ToolCall("count")] * 3)
        await model.close()


class Clockwork:
    """An engine that keeps all rules; those below break one each."""

    name = "clockwork"
    route: Literal["compute"] = "compute"

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        own = f"clockwork/{tool.name}"
        if tool.name != "count" or tool.binds_to not in (None, own):
            return None
        return replace(tool, domain="mcp", binds_to=own)

    def refusal(self, tool: ToolSpec) -> str:
        return "It only counts."

    async def open(self, state: WorldState, blobs: Blobs) -> Counting:
        return Counting()


class Counting:
    async def answer(self, context: StepContext) -> Answer:
        return self.counted(context, context.state.values.get("count", 0) + 1)

    def counted(self, context: StepContext, number: int) -> Answer:
        change = StateChange(clock_us=context.state.clock_us + 1, values={"count": number})
        return Answer(Observation(text=str(number)), change)

    def close(self) -> None:
        pass


def with_session(answer: Any = None, close: Any = None) -> Engine:
    """The engine, with another `answer` or `close`."""

    class Session(Counting):
        pass

    if answer is not None:
        Session.answer = answer
    if close is not None:
        Session.close = close

    class Broken(Clockwork):
        async def open(self, state: WorldState, blobs: Blobs) -> Counting:
            return Session()

    return Broken()


def with_method(name: str, method: Any) -> Engine:
    return type("Broken", (Clockwork,), {name: method})()


async def remembers(self: Any, context: StepContext) -> Answer:
    self.number = getattr(self, "number", 0) + 1
    return self.counted(context, self.number)


async def writes(self: Any, context: StepContext) -> Answer:
    values: Any = context.state.values
    values["count"] = values.get("count", 0) + 1
    return self.counted(context, values["count"])


async def meddles(self: Any, context: StepContext) -> Answer:
    gone: dict[str, Any] = dict.fromkeys(context.state.values)
    return Answer(Observation(text="1"), StateChange(clock_us=context.state.clock_us, values=gone))


async def goes_back(self: Any, context: StepContext) -> Answer:
    return Answer(Observation(text="1"), StateChange(clock_us=0))


async def gives_an_object(self: Any, context: StepContext) -> Answer:
    change = StateChange(clock_us=context.state.clock_us, values={"count": object()})
    return Answer(Observation(text="1"), change)


async def keeps_the_contents(self: Any, context: StepContext) -> Answer:
    change = StateChange(clock_us=context.state.clock_us, sessions={"mine": "0" * 64})
    return Answer(Observation(text="1"), change)


async def gives_a_text(self: Any, context: StepContext) -> Any:
    return "1"


shared: dict[str, int] = {}


async def shares(self: Any, context: StepContext) -> Answer:
    shared["count"] = shared.get("count", 0) + 1
    return self.counted(context, shared["count"])


async def has_a_clock(self: Any, context: StepContext) -> Answer:
    self.clock_us = max(getattr(self, "clock_us", 0), 0) or context.state.clock_us
    self.clock_us += 1
    number = context.state.values.get("count", 0) + 1
    change = StateChange(clock_us=self.clock_us, values={"count": number})
    return Answer(Observation(text=str(number)), change)


async def swallows(self: Any, context: StepContext) -> Any:
    number = context.state.values.get("count", 0) + 1
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        return None
    return self.counted(context, number)


async def waits(self: Any) -> None:
    pass


def binds_all(self: Any, tool: ToolSpec) -> ToolSpec:
    return replace(tool, domain="mcp", binds_to=tool.binds_to or "clockwork/any")


def binds_by_turns(self: Any, tool: ToolSpec) -> ToolSpec:
    self.bound = getattr(self, "bound", 0) + 1
    return replace(tool, domain="mcp", binds_to=f"clockwork/{self.bound}")


def renames(self: Any, tool: ToolSpec) -> ToolSpec | None:
    found = Clockwork.bind(self, tool)
    return found and replace(found, description="better")


def binds_without_a_domain(self: Any, tool: ToolSpec) -> ToolSpec | None:
    return Clockwork.bind(self, tool) and replace(tool, domain=None, binds_to="clockwork/count")


def forgets_its_own(self: Any, tool: ToolSpec) -> ToolSpec | None:
    return None if tool.binds_to else Clockwork.bind(self, tool)


def binds_nothing(self: Any, tool: ToolSpec) -> None:
    return None


def mumbles(self: Any, tool: ToolSpec) -> str:
    return "no"


@pytest.mark.parametrize(
    ("engine", "rule"),
    [
        (with_session(remembers), "a session opened at a state answers as one that came there"),
        (with_session(writes), "nothing is written to the state that is given"),
        (with_session(meddles), "the values of others are left alone"),
        (with_session(goes_back), "the clock never goes back"),
        (with_session(gives_an_object), "observation and change are JSON"),
        (with_session(keeps_the_contents), "contents are put into the context's blobs"),
        (with_session(gives_a_text), "an answer is an `Answer` with an `Observation`"),
        (with_session(shares), "a session opened at a state answers as one that came there"),
        (with_session(has_a_clock), "the clock to go by is the context's"),
        (with_session(swallows), "a cancelled call raises `CancelledError`"),
        (with_session(close=waits), "`close` is a plain function"),
        (with_method("bind", binds_all), "a tool that says it is something else is not bound"),
        (with_method("bind", binds_by_turns), "`bind` is pure"),
        (with_method("bind", renames), "`bind` changes nothing else of a tool"),
        (with_method("bind", binds_without_a_domain), "`bind` fills in `domain` and `binds_to`"),
        (with_method("bind", forgets_its_own), "a bound tool is bound to the same again"),
        (with_method("bind", binds_nothing), "`bind` takes the tools"),
        (with_method("refusal", mumbles), "`refusal` says in a sentence"),
        (with_method("route", "guess"), "`route` is 'compute' or 'imagine'"),
    ],
)
async def test_an_engine_that_breaks_a_rule_is_told_which(engine: Engine, rule: str) -> None:
    with pytest.raises(AssertionError) as caught:
        await check_engine(engine, COUNTER, [ToolCall("count")] * 3)
    assert str(caught.value).startswith("the engine 'clockwork' breaks a rule: ")
    assert rule in str(caught.value)


async def test_an_engine_of_a_user_keeps_the_rules() -> None:
    await check_engine(Clockwork(), COUNTER, [ToolCall("count")] * 3)


async def test_a_scenario_says_what_the_world_holds() -> None:
    lab = Scenario.model_validate({"name": "lab", "domains": ["swe"], "files": {"/a": "text\n"}})
    await check_engine(
        ShellEngine(),
        known("terminal/bash"),
        [ToolCall("bash", {"command": "cat /a"})],
        scenario=lab,
    )
