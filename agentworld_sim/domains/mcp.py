"""Tools of servers that speak the Model Context Protocol, and functions with a JSON interface."""

from __future__ import annotations

import re
from typing import Literal

from agentworld_sim.checks import CheckInput
from agentworld_sim.domains import Domain
from agentworld_sim.domains.text import json_action, json_value
from agentworld_sim.domains.tool_results import read_result, write_result

_BEGINS_LIKE_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])")


class JsonStaysJson:
    """A tool that has always answered with JSON does not begin an answer as JSON and break off."""

    name = "json-form"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        text = given.observation.text
        if given.observation.is_error or not _BEGINS_LIKE_JSON.match(text):
            return None
        earlier = [
            turn.observation.text
            for turn in given.history
            if turn.call.name == given.call.name and not turn.observation.is_error
        ]
        if not earlier or any(_problem(one) for one in earlier):
            return None
        problem = _problem(text)
        return problem and f"{given.call.name!r} answers with JSON, and this is {problem}"


def _problem(text: str) -> str | None:
    try:
        json_value(text)
    except ValueError as error:
        return str(error)
    return None


DOMAIN = Domain(
    name="mcp",
    action=json_action,
    write=write_result,
    read=read_result,
    fence="json",
    checks=(JsonStaysJson(),),
)
