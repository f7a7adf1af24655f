"""Whole agents on a simulated machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolNode

from agentworld_graphs import ScriptedChatModel, SimToolNode, ref_in, simulate
from agentworld_sim.toolkits import KnownTool, known_tools

if TYPE_CHECKING:
    from conftest import Lab

FILES = {
    "/srv/app/Makefile": "test:\n\tsh check.sh\n",
    "/srv/app/check.sh": "grep -q 'answer = 42' config.ini && echo ok || { echo FAILED; exit 1; }\n",
    "/srv/app/config.ini": "answer = 41\n",
}


@pytest.fixture
def script(lab: Lab) -> list[AIMessage | ToolMessage]:
    """An agent looks around, runs the tests, edits a file and runs them again."""
    return [
        lab.asks(
            lab.call("bash", "1", command="cd /srv/app && ls"),
            lab.call("read_file", "2", file_path="/srv/app/config.ini"),
        ),
        ToolMessage("Makefile\ncheck.sh\nconfig.ini\n", tool_call_id="1"),
        ToolMessage("answer = 41\n", tool_call_id="2"),
        lab.asks(
            lab.call("bash", "3", command="sed -i s/41/42/ config.ini; grep . config.ini"),
            lab.call("bash", "4", command="sh check.sh"),
        ),
        ToolMessage("answer = 42\n", tool_call_id="3"),
        ToolMessage("ok\n", tool_call_id="4"),
        AIMessage("done"),
    ]


async def both(graph: Any, given: dict[str, Any]) -> list[Any]:
    """The final state of a graph, run in both ways."""
    return [graph.invoke(given), await graph.ainvoke(given)]


@pytest.mark.parametrize("sent", [False, True])
async def test_a_state_graph_works_on_the_simulated_machine(
    lab: Lab, go: dict[str, Any], script: list[Any], sent: bool
) -> None:
    for state in lab.states:
        world = lab.machine(FILES)
        node = SimToolNode(lab.shell_tools(), world=world)
        for final in await both(lab.agent(node, *script, state=state, sent=sent), go):
            assert final["messages"][-1].content == "done"
            at = ref_in(final)
            assert await world.read_file("/srv/app/config.ini", at=at) == b"answer = 42\n"
    assert lab.ran == []


@pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_create_react_agent_takes_the_node_and_the_tools(
    lab: Lab, go: dict[str, Any], script: list[Any], version: Any
) -> None:
    world = lab.machine(FILES)
    model = ScriptedChatModel(script=script)
    node = SimToolNode(lab.shell_tools(), world=world)
    tools = [simulate(tool, world) for tool in lab.shell_tools()]
    for given in (node, tools):
        for final in await both(lab.create_react_agent(model, given, version=version), go):
            assert final["messages"][-1].content == "done"
    assert lab.ran == []


async def test_create_agent_takes_the_tools(
    lab: Lab, go: dict[str, Any], script: list[Any]
) -> None:
    world = lab.machine(FILES)
    agent = lab.create_agent(
        ScriptedChatModel(script=script), [simulate(t, world) for t in lab.shell_tools()]
    )
    for final in await both(agent, go):
        assert final["messages"][-1].content == "done"
    assert lab.ran == []


async def test_runs_are_the_same_every_time_and_on_every_path(
    lab: Lab, go: dict[str, Any], script: list[Any]
) -> None:
    world = lab.machine(FILES)
    tools = [simulate(tool, world) for tool in lab.shell_tools()]
    graphs = [
        lab.create_agent(ScriptedChatModel(script=script), tools),
        lab.agent(SimToolNode(lab.shell_tools(), world=world), *script),
        lab.agent(SimToolNode(lab.shell_tools(), world=world), *script, sent=True),
        lab.agent(ToolNode(tools), *script),
    ]
    refs = {ref_in(final) for graph in graphs for final in await both(graph, go)}
    assert len(refs) == 1


def test_the_agent_never_reads_that_it_is_simulated(
    lab: Lab, go: dict[str, Any], script: list[Any]
) -> None:
    world = lab.machine(FILES)
    model = ScriptedChatModel(script=script)
    tools = [simulate(tool, world) for tool in lab.shell_tools()]
    shown = [tool.tool_call_schema for tool in tools]
    final = lab.create_agent(model, tools).invoke(go)
    seen = str([message.content for message in final["messages"]]) + str(shown)
    for word in ("simulat", "agentworld", "imagin"):
        assert word not in seen.lower()


SHELLS = [
    one for one in known_tools().values() if "command" in " ".join(one.input_schema["properties"])
]


@pytest.mark.parametrize("binding", SHELLS, ids=lambda binding: binding.id)
def test_a_shell_keeps_between_calls_what_the_real_one_keeps(
    lab: Lab, go: dict[str, Any], binding: KnownTool
) -> None:
    real = StructuredTool(
        name="run",
        description="Runs commands.",
        args_schema=dict(binding.input_schema),
        func=None,
    )
    node = SimToolNode([real], world=lab.machine(), binds_to={"run": binding.id})
    argument = next(name for name in binding.input_schema["properties"] if "command" in name)
    # Some tools repeat the command: what is looked for is not in its text.
    scripts = [
        "mkdir -p sub; cd sub; export KEPT=yes; set -f",
        'basename "$PWD" | tr a-z A-Z; echo "[$KEPT]"; case $- in *f*) echo $((6 * 7));; esac',
    ]
    asked = [
        lab.asks(lab.call("run", str(number), **{argument: script}))
        for number, script in enumerate(scripts)
    ]
    _, seen = lab.answers(lab.agent(node, *asked, AIMessage("done")).invoke(go))
    kept = [piece in seen for piece in ("SUB", "[yes]", "42")]
    assert (
        kept
        == {
            "nothing": [False, False, False],
            "cwd": [True, False, False],
            "all": [True, True, True],
        }[binding.keeps]
    )
