"""`OutputSchemaCheck`: structured content fits, and if not, the reason says where and what was wanted."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim.checks import OutputSchemaCheck
from agentworld_sim.types.tools import ToolSpec

from .judging import judged

TOOL = ToolSpec(
    name="orders",
    output_schema={
        "type": "object",
        "properties": {
            "orders": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}, "state": {"enum": ["open", "paid"]}},
                    "required": ["n"],
                },
            },
            "next": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["orders"],
    },
)
MISFIT = "structured content does not fit the output schema: "
NO_ALTERNATIVE = (
    "3 is not valid under any of the given schemas; wanted one of"
    ' [{"type":"string"},{"type":"null"}]'
)
MISSING = (
    "structured content is missing, and the tool promises it: JSON of type 'object' that fits its"
    " output schema"
)

CASES: list[tuple[Any, str | None]] = [
    ({"orders": [{"n": 1, "state": "open"}], "next": None}, None),
    ({}, f"{MISFIT}'orders' is a required property"),
    (
        {"orders": [{"n": 1}, {"n": "2"}]},
        f"{MISFIT}'2' is not of type 'integer' (at $.orders[1].n)",
    ),
    ({"orders": [{}]}, f"{MISFIT}'n' is a required property (at $.orders[0])"),
    (
        {"orders": [{"n": 1, "state": "lost"}]},
        f"{MISFIT}'lost' is not one of ['open', 'paid'] (at $.orders[0].state)",
    ),
    (
        {"orders": [], "next": 3},
        f"{MISFIT}{NO_ALTERNATIVE} (at $.next)",
    ),
    (
        None,
        MISSING,
    ),
]


@pytest.mark.parametrize(("content", "reason"), CASES)
def test_the_reason_names_the_place_and_what_was_wanted(content: Any, reason: str | None) -> None:
    assert judged(OutputSchemaCheck(), "orders", {}, structured=content, tool=TOOL) == reason


def test_an_error_is_exempt() -> None:
    assert judged(OutputSchemaCheck(), "orders", {}, "no", is_error=True, tool=TOOL) is None


def test_a_large_value_is_not_quoted_whole() -> None:
    content = {"orders": "x" * 5_000_000}
    reason = judged(OutputSchemaCheck(), "orders", {}, structured=content, tool=TOOL)
    assert reason is not None
    assert len(reason) < 600
    assert reason.endswith("is not of type 'array' (at $.orders)")
