"""The domains of mirrored tools, and what a client's user says of them."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_mcp_shim._command._upstream_options import parse_binds
from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import Mirror
from agentworld_sim import World

SEARCH: dict[str, Any] = {
    "name": "tavily_search",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("binds", "domain"), [({}, "search"), ({"tavily_search": "model/web"}, "web")]
)
async def test_a_mirrored_tool_has_its_own_domain_or_the_one_that_is_asked_for(
    binds: dict[str, str], domain: str
) -> None:
    mirror = Mirror(Listing(identity={}, lists={"tools/list": {None: {"tools": [SEARCH]}}}))
    # Nobody answers at this address, and nobody is asked.
    async with await World.create(model="http://127.0.0.1:9") as world:
        (bound,) = world.add_tools(mirror.specs(binds))
    assert (bound.domain, bound.binds_to) == (domain, f"model/{domain}")


def test_a_bind_may_say_which_argument_is_which() -> None:
    given = ("run=terminal/bash(command=cmd, -timeout)", "a=b=terminal/bash")
    assert parse_binds(given) == {
        "run": "terminal/bash(command=cmd, -timeout)",
        "a=b": "terminal/bash",
    }
