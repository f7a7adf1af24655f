"""Structured content fits what the tool promises."""

from __future__ import annotations

from typing import Literal

from agentworld_sim.checks._base import CheckInput
from agentworld_sim.tools import schema_problem


class OutputSchemaCheck:
    """Structured content fits the tool's output schema; error results are exempt."""

    name = "output-schema"
    scope: Literal["all"] = "all"

    def judge(self, given: CheckInput) -> str | None:
        if given.tool.output_schema is None or given.observation.is_error:
            return None
        problem = schema_problem(given.tool.output_schema, given.observation.structured)
        return problem and f"structured content does not fit the output schema: {problem}"
