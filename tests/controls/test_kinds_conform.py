"""Every kind of control under the suite that users run on their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from agentworld_sim import Answer, Control, Observation, Scenario, ToolCall
from agentworld_sim.controls import Next, StepContext, control_kinds
from agentworld_sim.controls.control_list import BUILTIN_KINDS
from agentworld_sim.scenario import declared_controls
from agentworld_sim.testing import check_control
from tests.controls.controls_page import PAGE, document
from tests.controls.lamp_pages import SEARCH_CALLS, SEARCH_SCENARIO, search_engine
from tests.controls.records import (
    ENGINE,
    ITEMS,
    LOGIN,
    REPORT_CALL,
    adding,
    ordering,
    records_scenario,
)

NEEDED: Mapping[str, Mapping[str, Any]] = {
    "fault": {"tool": "order", "error": "no"},
    "expired-token": {"nth": [2]},
    "changed-schema": {"rename": {"note": "comment"}, "tool": "add", "nth": [2]},
    "clock-skew": {"by_us": 5},
    "wrong-unit": {"fields": ["price"]},
    "withheld-field": {"fields": ["price"]},
    "wrong-value": {"fields": ["price"]},
    "hidden-fact": {"fact": "swordfish"},
    "adversarial-text": {"pack": "instructions"},
    "noise": {"start": 1, "end": 1},
    "contradiction": {"share": 1},
    "outdated-page": {"share": 1},
    "paywall": {"share": 1, "characters": 40},
    "rate-limit": {"limit": 2},
    "quota": {"limit": 2},
}
"""What a kind cannot do without, or does sooner with."""

CALLS = [
    adding("a", "b"),
    ITEMS,
    ordering(),
    ToolCall("add", {"items": ["c", "d"], "note": "x"}),
    REPORT_CALL,
    LOGIN,
    ITEMS,
]


def of_kind(kind: str, **selectors: Any) -> Control:
    written = {"kind": kind, "name": "c", **NEEDED.get(kind, {}), **selectors}
    return declared_controls([written])[0]


WEB_KINDS = [
    kind for kind in BUILTIN_KINDS if getattr(control_kinds.get(kind), "only_in", ()) == ("search",)
]


@pytest.mark.parametrize("kind", [kind for kind in BUILTIN_KINDS if kind not in WEB_KINDS])
async def test_a_kind_decides_by_the_step_alone(kind: str) -> None:
    control = of_kind(kind)
    turns = await check_control(control, CALLS, scenario=records_scenario(), engines=[ENGINE])
    assert any("control/c" in turn.change.values for turn in turns)
    assert control.describe() or kind == "fault"


@pytest.mark.parametrize("kind", WEB_KINDS)
async def test_a_kind_decides_by_the_step_alone_on_the_web(kind: str) -> None:
    turns = await check_control(
        of_kind(kind), SEARCH_CALLS, scenario=SEARCH_SCENARIO, engines=[search_engine()]
    )
    assert any("control/c" in turn.change.values for turn in turns)


async def test_chance_is_of_the_step_too() -> None:
    some = of_kind("slow-answer", probability=0.5)
    await check_control(some, CALLS * 2, scenario=records_scenario(), engines=[ENGINE])


SHELL_CALLS = [
    ToolCall("bash", {"command": command})
    for command in (
        "mkdir -p /srv/é; cd /srv; seq 30 > a",
        "cat a; ls /srv; X=1",
        "echo $X >> a; cat a",
    )
]


@pytest.mark.parametrize(
    "kind",
    [
        "disk-full",
        "read-only",
        "lost-write",
        "duplicated-write",
        "stale-read",
        "wrong-encoding",
        "slow-answer",
        "clock-skew",
    ],
)
async def test_a_kind_decides_by_the_step_alone_on_a_machine(kind: str) -> None:
    scenario = Scenario.model_validate({"name": "m", "domains": ["terminal"]})
    turns = await check_control(of_kind(kind, nth=[2, 3]), SHELL_CALLS, scenario=scenario)
    assert any("control/c" in turn.change.values for turn in turns)


async def test_a_control_that_counts_beside_the_state_is_found_out() -> None:
    numbers = count()

    @dataclass(frozen=True)
    class Counting(Control):
        name: str = "counting"

        async def handle(self, step: StepContext, next: Next) -> Answer:
            return step.enforce(Observation(text=str(next_number())))

    def next_number() -> int:
        return next(numbers)

    with pytest.raises(AssertionError, match=r"'counting' breaks a rule: .* two worlds differ"):
        await check_control(Counting(), CALLS, scenario=records_scenario(), engines=[ENGINE])


async def test_a_description_that_changes_is_found_out() -> None:
    numbers = count()

    @dataclass(frozen=True)
    class Talking(Control):
        name: str = "talking"

        async def handle(self, step: StepContext, next: Next) -> Answer:
            return await next(step)

        def describe(self) -> str:
            return str(next(numbers))

    with pytest.raises(AssertionError, match="`describe` says something else"):
        await check_control(Talking(), CALLS[:1], scenario=records_scenario(), engines=[ENGINE])


def test_the_page_is_made_from_the_kinds() -> None:
    assert PAGE.read_text(encoding="utf-8") == document(), (
        "run: python -m tests.controls.controls_page"
    )
