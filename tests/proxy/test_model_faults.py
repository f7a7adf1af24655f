"""Which model calls a fault strikes, and what its file may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as some

from agentworld_sim import UsageError
from agentworld_sim.proxy import FaultSchedule, ModelFault
from tests.properties import examples


def strikes(schedule: FaultSchedule, calls: list[str], **options: Any) -> list[str | None]:
    given: dict[str, Any] = {"tools": True, **options}
    chosen = [schedule.choose("m", [call], **given) for call in calls]
    return [fault and fault.name for fault in chosen]


def test_selectors_select_as_those_of_controls() -> None:
    def struck(**selectors: Any) -> list[int]:
        schedule = FaultSchedule([ModelFault(kind="empty", **selectors)])
        found = strikes(schedule, ["x"] * 6)
        return [number for number, name in enumerate(found, 1) if name]

    assert struck() == [1, 2, 3, 4, 5, 6]
    assert struck(nth=(2, 5)) == [2, 5]
    assert struck(times=2) == [1, 2]
    assert struck(nth=(2, 5), times=1) == [2]
    assert struck(model="m*") == [1, 2, 3, 4, 5, 6]
    assert struck(model="other") == []


def test_the_first_that_strikes_is_met_and_all_count_the_call() -> None:
    one = ModelFault(kind="empty", nth=(1,))
    two = ModelFault(kind="refusal", nth=(1, 2))
    schedule = FaultSchedule([one, two])
    assert strikes(schedule, ["x", "x", "x"]) == ["empty", "refusal", None]
    assert schedule.struck == {"empty": 1, "refusal": 1}


def test_without_tools_no_call_of_one_is_malformed() -> None:
    schedule = FaultSchedule([ModelFault(kind="malformed-call", nth=(1,))])
    assert strikes(schedule, ["x", "x"], tools=False) == [None, None]
    assert strikes(schedule, ["x", "x"]) == ["malformed-call", None]


@settings(max_examples=examples(200), deadline=None)
@given(some.permutations([f"call {number % 7}" for number in range(12)]), some.integers())
def test_what_is_drawn_does_not_depend_on_the_order_of_the_calls(
    order: list[str], seed: int
) -> None:
    def struck(calls: list[str]) -> list[str]:
        schedule = FaultSchedule([ModelFault(kind="empty", probability=0.5)], seed=seed)
        return sorted(
            call for call, name in zip(calls, strikes(schedule, calls), strict=True) if name
        )

    assert struck(order) == struck(sorted(order))


def test_a_file_says_faults_and_a_seed(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text(
        "seed: 7\nfaults:\n- {kind: rate-limit, nth: [2], seconds: 1}\n- {kind: empty, name: e, times: 1}\n"
    )
    schedule = FaultSchedule.load(file)
    assert schedule.faults == (
        ModelFault(kind="rate-limit", name="rate-limit", nth=(2,), seconds=1),
        ModelFault(kind="empty", name="e", times=1),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("faults: [", "not valid YAML"),
        ("- kind: empty", "found a list"),
        ("fault: []", "faults: required"),
        ("faults: []", "no model faults are given"),
        ("faults: [{kind: refuse}]", "Did you mean 'refusal'?"),
        ("faults: [{kind: empty, tmies: 1}]", "Did you mean 'times'?"),
        ("faults: [{kind: empty, times: often}]", "faults[0].times: found 'often'"),
        ("faults: [{kind: empty, times: 0}]", "faults[0].times: found 0"),
        ("faults: [{kind: empty, nth: [0]}]", "faults[0].nth[0]: found 0"),
        ("faults: [{kind: empty, probability: 0}]", "faults[0].probability: found 0"),
        ("faults: [{kind: empty, seconds: 1}]", "slow-first-token and rate-limit alone take it"),
        ("faults: [{kind: empty}, {kind: empty}]", "two model faults are named 'empty'"),
    ],
)
def test_a_file_that_is_wrong_is_one_clear_error(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "faults.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError) as failure:
        FaultSchedule.load(file)
    assert message in str(failure.value)
