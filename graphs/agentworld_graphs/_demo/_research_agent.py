"""The agent of the ready graph `research`: its tools, and what it says where it follows a script."""

from __future__ import annotations

import json
from importlib.resources import files

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool

SCENARIO = "fictional-web"


@tool
def web_search(queries: list[str]) -> str:
    """Search the web: ten results for each query."""
    raise NotImplementedError("put your search service here; in a world it is not asked")


@tool
def web_extractor(url: str) -> str:
    """Read the page at an address."""
    raise NotImplementedError("put your page reader here; in a world it is not asked")


TOOLS: list[BaseTool] = [web_search, web_extractor]


def research_script() -> list[AIMessage]:
    """Finds the answer of the shipped scenario; `tests/data/make_fictional_web.py` writes it."""
    text = files("agentworld_graphs._demo").joinpath("research_script.json").read_text("utf-8")
    return [
        AIMessage(
            one["text"],
            tool_calls=[
                {**call, "id": f"call-{number}-{place}"}
                for place, call in enumerate(one["calls"], 1)
            ],
        )
        for number, one in enumerate(json.loads(text), 1)
    ]
