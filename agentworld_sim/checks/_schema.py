"""Structured content fits what the tool promises."""

from __future__ import annotations

from typing import Literal

from agentworld_sim.ports.checks import CheckInput
from agentworld_sim.schema.validate import schema_problem


class OutputSchemaCheck:
    """Structured content fits the tool's output schema; error results are exempt.

    The reason names the place in the content and what the schema wants there.
    """

    name = "output-schema"
    scope: Literal["all"] = "all"

    def judge(self, given: CheckInput) -> str | None:
        schema, content = given.tool.output_schema, given.observation.structured
        if schema is None or given.observation.is_error:
            return None
        problem = schema_problem(schema, content)
        if problem is None:
            return None
        if content is None:
            return (
                "structured content is missing, and the tool promises it: JSON of type"
                f" {schema.get('type', 'object')!r} that fits its output schema"
            )
        return f"structured content does not fit the output schema: {problem}"
