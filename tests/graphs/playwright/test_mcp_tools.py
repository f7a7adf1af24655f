"""Tools of Playwright's MCP server in a graph: they bind by their names and schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from agentworld_graphs import SimToolNode
from agentworld_sim import World
from agentworld_sim.engines.web import WebEngine
from tests.engines.web.action_site import ActionInternet

if TYPE_CHECKING:
    from conftest import Lab

SCHEMAS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "engines/web/actions/tools.json").read_text(encoding="utf-8")
)["0.0.68"]


def real_tools(*names: str) -> list[BaseTool]:
    """The tools as an adapter for MCP gives them to LangChain."""

    async def run(**arguments: Any) -> str:
        raise AssertionError("the real tool ran")

    return [
        StructuredTool(name=name, description=name, args_schema=SCHEMAS[name], coroutine=run)
        for name in names
    ]


async def test_a_graph_browses_a_site_of_its_world(lab: Lab, go: dict[str, Any]) -> None:
    world = await World.create(engines=[WebEngine(None, ActionInternet(), workspace="/srv/app")])
    node = SimToolNode(real_tools("browser_navigate", "browser_click"), world=world)
    url = "http://orders.web.test/orders.html"
    call = {"name": "browser_navigate", "args": {"url": url}, "id": "1", "type": "tool_call"}
    script = [AIMessage("", tool_calls=[call]), AIMessage("done")]
    final = await lab.agent(node, *script).ainvoke(go)
    shown = final["messages"][-2].content
    # The tool beside it takes a ref: this is the generation that shows its pages.
    assert 'link "Redirect" [ref=' in shown and "```yaml" in shown
