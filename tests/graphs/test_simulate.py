"""`simulate`: the tool stays as it was; what answers it changes."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from langgraph.prebuilt import InjectedState, ToolNode, ToolRuntime
from pydantic import BaseModel, Field, ValidationError

from agentworld_graphs import simulate
from agentworld_sim import (
    AccessRefused,
    FunctionEngine,
    MemoryStore,
    Observation,
    Scenario,
    UsageError,
    World,
    WorldFailure,
)
from agentworld_sim.runtime.sync import run_sync

if TYPE_CHECKING:
    from conftest import Lab


SCENARIO = Scenario.model_validate({"name": "lab", "domains": ["terminal"], "tools": ["terminal"]})


def echo(said: Observation | None = None) -> World:
    """A world with the tool `ask`, which says what it was asked."""

    def ask(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Observation:
        return said or Observation(text=repr(dict(arguments)))

    return run_sync(World.create(SCENARIO, engines=[FunctionEngine({"ask": ask})]))


async def both(tool: BaseTool, given: Any) -> list[Any]:
    """What a tool says, asked in both ways."""
    return [tool.invoke(given), await tool.ainvoke(given)]


# What stays


def test_all_that_the_agent_and_the_framework_see_stays() -> None:
    def ask(question: str) -> tuple[str, object]:
        """Asks."""
        raise AssertionError("the real tool ran")

    real = StructuredTool.from_function(
        ask,
        response_format="content_and_artifact",
        return_direct=True,
        tags=["a tag"],
        metadata={"of": "the tool"},
        extras={"defer_loading": True},
        handle_tool_error="that went wrong",
    )
    simulated = simulate(real, echo())
    kept = (
        "name",
        "description",
        "args_schema",
        "args",
        "response_format",
        "return_direct",
        "tags",
        "metadata",
        "extras",
        "handle_tool_error",
    )
    assert {key: getattr(simulated, key) for key in kept} == {
        key: getattr(real, key) for key in kept
    }


async def test_the_real_tool_is_never_called(lab: Lab) -> None:
    world = lab.world()
    for tool in lab.tools():
        given = {"item": "milk"} if tool.name == "add" else {}
        await both(simulate(tool, world), lab.call(tool.name, **given))
    assert lab.ran == []


async def test_functions_are_taken_as_a_tool_node_takes_them() -> None:
    def ask(question: str) -> str:
        """Asks."""
        raise AssertionError("the real tool ran")

    assert await both(simulate(ask, echo()), {"question": "?"}) == ["{'question': '?'}"] * 2


async def test_tools_that_are_only_async_are_answered_in_both_ways() -> None:
    async def ask(question: str) -> str:
        """Asks."""
        raise AssertionError("the real tool ran")

    real = StructuredTool.from_function(coroutine=ask)
    assert await both(simulate(real, echo()), {"question": "?"}) == ["{'question': '?'}"] * 2


async def test_a_tool_can_be_called_synchronously_inside_a_running_loop(lab: Lab) -> None:
    add = simulate(lab.tools()[0], lab.world())
    assert add.invoke({"item": "milk"}) == "milk"
    assert await add.ainvoke({"item": "bread"}) == "milk,bread"


def test_a_single_argument_may_be_given_as_a_string(lab: Lab) -> None:
    assert simulate(lab.tools()[0], lab.world()).invoke("milk") == "milk"


# Arguments


def test_arguments_are_validated_as_the_real_tool_does(lab: Lab) -> None:
    add = simulate(lab.tools()[0], lab.world())
    with pytest.raises(ValidationError, match="item"):
        add.invoke(lab.call("add", thing="milk"))
    assert lab.answered == []


class Colour(enum.Enum):
    RED = "red"


class Paint(BaseModel):
    colour: Colour
    where: Path


class Ask(BaseModel):
    paint: Paint
    coats: int = 2
    note: str = None  # type: ignore[assignment]  what sloppy tools have
    from_: str = Field(default="here", alias="from")


async def test_arguments_are_recorded_as_the_json_that_fits_the_schema() -> None:
    def ask(**given: Any) -> str:
        """Asks."""
        raise AssertionError("the real tool ran")

    real = StructuredTool.from_function(ask, args_schema=Ask)
    world = echo()
    given = {"paint": {"colour": "red", "where": "/wall"}, "coats": "3"}
    simulate(real, world).invoke(given)
    (turn,) = await world.trajectory()
    assert turn.call.arguments == {
        "paint": {"colour": "red", "where": "/wall"},
        "coats": 3,
        "from_": "here",
    }


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "runtime": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def like_mcp(**options: Any) -> StructuredTool:
    """A tool as the MCP adapters make them: a JSON schema, a coroutine, artifacts."""

    async def call(**_: Any) -> tuple[list[str], object]:
        raise AssertionError("the real tool ran")

    return StructuredTool(
        name="ask",
        description="Asks.",
        args_schema=SCHEMA,
        coroutine=call,
        response_format="content_and_artifact",
        **options,
    )


async def test_json_schemas_are_checked_and_the_agent_is_told(lab: Lab) -> None:
    world = echo()
    for message in await both(simulate(like_mcp(), world), lab.call("ask", town="Ulm")):
        assert message.status == "error"
        assert "'ask' does not take these arguments" in message.content
    assert len(await world.trajectory()) == 0


async def test_a_json_schema_may_have_an_argument_called_runtime(lab: Lab, go: Any) -> None:
    tool = simulate(like_mcp(), echo())
    graph = lab.agent(
        ToolNode([tool]), lab.asks(lab.call("ask", city="Ulm", runtime="python")), lab.asks()
    )
    assert lab.answers(graph.invoke(go)) == ["{'city': 'Ulm', 'runtime': 'python'}"]


async def test_artifacts_are_there_and_never_none(lab: Lab) -> None:
    world = echo(Observation(text="sunny", structured={"sky": "blue"}))
    for message in await both(simulate(like_mcp(), world), lab.call("ask", city="Ulm")):
        assert message.artifact == {"structured_content": {"sky": "blue"}}
    (bare,) = {
        str(message.artifact)
        for message in await both(simulate(like_mcp(), echo()), lab.call("ask", city="Ulm"))
    }
    assert bare == "{'structured_content': None}"


@pytest.mark.parametrize("path", ["direct", "node"])
async def test_injected_values_are_never_recorded(lab: Lab, go: Any, path: str) -> None:
    def ask(
        question: str,
        state: Annotated[dict[str, Any], InjectedState],
        runtime: ToolRuntime[Any, Any],
        id: Annotated[str, InjectedToolCallId],
    ) -> str:
        """Asks."""
        raise AssertionError("the real tool ran")

    world = echo()
    tool = simulate(lab.tool(ask), world)
    assert list(tool.tool_call_schema.model_fields) == ["question"]  # type: ignore[union-attr]  no dict
    if path == "node":
        script = lab.asks(lab.call("ask", question="?")), lab.asks()
        final = lab.agent(ToolNode([tool]), *script).invoke(go)
    else:
        with pytest.raises(ValidationError, match="runtime"):
            tool.invoke(lab.call("ask", question="?", state={}))
        return
    assert lab.answers(final) == ["{'question': '?'}"]
    seen = final["messages"][2].additional_kwargs["agentworld"]["ref"]
    (turn,) = await world.trajectory(seen)
    assert turn.call.arguments == {"question": "?"}


# Errors


@pytest.mark.parametrize(
    ("handler", "content"),
    [
        (False, "no such thing"),
        (True, "no such thing"),
        ("it failed", "it failed"),
        ("because {}".format, "because no such thing"),
    ],
)
async def test_errors_reach_the_agent_as_the_tool_would_have_it(
    lab: Lab, handler: Any, content: str
) -> None:
    real = lab.tools()[2]
    real.handle_tool_error = handler
    tool = simulate(real, lab.world())
    for message in await both(tool, lab.call("fail")):
        assert (message.status, message.content) == ("error", content)
        assert message.additional_kwargs["agentworld"]["provenance"] == "computed"
    assert await both(tool, {}) == [content] * 2


async def test_outside_of_a_graph_our_failures_keep_their_type(lab: Lab) -> None:
    add = simulate(lab.tools()[0], lab.world())
    lab.down.add("milk")
    with pytest.raises(RuntimeError, match="no answer for milk"):
        add.invoke(lab.call("add", item="milk"))
    with pytest.raises(RuntimeError, match="no answer for milk"):
        await add.ainvoke({"item": "milk"})


async def test_world_failures_are_no_tool_exceptions(lab: Lab) -> None:
    world = lab.world()
    add = simulate(lab.tools()[0], world)
    await world.close()
    with pytest.raises(UsageError, match="is closed"):
        add.invoke(lab.call("add", item="milk"))
    assert not issubclass(WorldFailure, ToolException)


# Callbacks


class Listener(BaseCallbackHandler):
    """Writes down what it hears of tools."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    def on_tool_start(self, serialized: Any, input_str: str, **given: Any) -> None:
        self.heard.append(("start", (serialized["name"], given["inputs"], given["metadata"])))

    def on_tool_end(self, output: Any, **given: Any) -> None:
        self.heard.append(("end", output))

    def on_tool_error(self, error: BaseException, **given: Any) -> None:
        self.heard.append(("error", error))


async def test_callbacks_hear_of_every_call_once(lab: Lab) -> None:
    world = lab.world()
    add = simulate(lab.tools()[0], world)
    call = lab.call("add", item="milk")
    for way in ("invoke", "ainvoke"):
        listener = Listener()
        config: Any = {"callbacks": [listener], "metadata": {"mine": 1}}
        message = add.invoke(call, config) if way == "invoke" else await add.ainvoke(call, config)
        (start, (name, inputs, metadata)), (end, output) = listener.heard
        assert (start, name, inputs, end) == ("start", "add", {"item": "milk"}, "end")
        ours = {"agentworld_world": world.id, "agentworld_simulated": True}
        assert metadata == {"mine": 1, **ours}
        assert output is message
        assert output.additional_kwargs["agentworld"] == {
            "world": world.id,
            "ref": world.ref,
            "parent": (await world.trajectory()).turns[-1].parent,
            "provenance": "computed",
            "seed": world.scenario.seed,
        }


def test_callbacks_hear_of_failures(lab: Lab) -> None:
    listener = Listener()
    lab.down.add("milk")
    with pytest.raises(RuntimeError):
        simulate(lab.tools()[0], lab.world()).invoke(
            lab.call("add", item="milk"), {"callbacks": [listener]}
        )
    assert [what for what, _ in listener.heard] == ["start", "error"]


# Worlds and bindings


def test_without_a_world_there_is_a_fresh_machine(lab: Lab) -> None:
    bash, _ = lab.shell_tools()
    one, other = simulate(bash), simulate(bash)
    assert one.invoke({"command": "echo hi > /tmp/note; hostname"})
    assert other.invoke({"command": "ls /tmp"}) == ""
    assert one.world is not other.world


def test_a_world_is_found_in_its_store(lab: Lab) -> None:
    store = MemoryStore()
    bash, _ = lab.shell_tools()
    world = run_sync(World.create(lab.scenario({"/srv/note": "hi\n"}), id="mine", store=store))
    assert simulate(bash, "mine", store=store).invoke({"command": "cat /srv/note"}) == "hi\n"
    assert world.id == "mine"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"world": "mine"}, "say in which store it is"),
        ({"store": MemoryStore()}, "goes with a world's id"),
        ({"access": "real"}, "give the real tool itself"),
        ({"binds_to": "terminal/basch"}, "Did you mean 'terminal/bash'"),
    ],
)
def test_mistakes_are_named(lab: Lab, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        simulate(lab.shell_tools()[0], **options)


def test_a_tool_of_another_name_is_bound_explicitly(lab: Lab) -> None:
    def sh(command: str) -> str:
        """Runs."""
        raise AssertionError("the real tool ran")

    tool = simulate(lab.tool(sh), lab.machine(), binds_to="terminal/bash")
    assert (tool.name, tool.invoke({"command": "echo hi"})) == ("sh", "hi\n")


def test_a_tool_of_another_domain_is_refused_and_told_how_to_bind_it(lab: Lab) -> None:
    def web_search(query: str) -> str:
        """Searches."""
        raise AssertionError("the real tool ran")

    with pytest.raises(AccessRefused) as caught:
        simulate(lab.tool(web_search), lab.machine())
    assert "'web_search' is refused, because it binds to nothing" in str(caught.value)
    assert "binds_to=" in str(caught.value)


def test_a_known_name_with_other_arguments_is_refused(lab: Lab) -> None:
    def bash(host: str, script: str) -> str:
        """Runs a script elsewhere."""
        raise AssertionError("the real tool ran")

    with pytest.raises(AccessRefused, match="but host would be ignored"):
        simulate(lab.tool(bash), lab.machine())


def test_two_tools_of_one_name_cannot_share_a_world(lab: Lab) -> None:
    def bash(command: str, timeout: int = 1) -> str:
        """Another one."""
        raise AssertionError("the real tool ran")

    world = lab.machine()
    assert simulate(lab.shell_tools()[0], world).world is world
    with pytest.raises(UsageError, match=r"another schema or binding.*world\.fork"):
        simulate(lab.tool(bash), world)


async def test_a_refused_tool_is_kept_and_fails_when_it_is_called(lab: Lab) -> None:
    add = simulate(lab.tools()[0], lab.world(), access="refuse")
    assert add.name == "add"
    for given in (lab.call("add", item="milk"), {"item": "milk"}):
        with pytest.raises(AccessRefused, match=r"access=\{'add': 'refuse'\}"):
            add.invoke(given)
    assert lab.answered == []


def test_messages_are_tool_messages_of_the_tools_name(lab: Lab) -> None:
    message = simulate(lab.tools()[1], lab.world()).invoke(lab.call("look", "an id"))
    assert isinstance(message, ToolMessage)
    assert (message.name, message.tool_call_id, message.status, message.artifact) == (
        "look",
        "an id",
        "success",
        None,
    )


def test_what_holds_a_world_is_taken_for_it(lab: Lab) -> None:
    world = lab.world()
    first = simulate(lab.tools()[0], world)
    second = simulate(lab.tools()[1], first)
    assert second.world is first.world is world
    assert (first.invoke({"item": "a"}), second.invoke({})) == ("a", "a")


def test_what_is_no_world_is_told(lab: Lab) -> None:
    given: Any = 5
    with pytest.raises(UsageError, match=r"a world is wanted, not 'int'\. Make one"):
        simulate(lab.tools()[0], given)
