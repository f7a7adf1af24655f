"""Which calls controls strike: selectors, chance, order, branches; and what can never strike."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import (
    Control,
    FunctionEngine,
    MemoryStore,
    Scenario,
    ScenarioError,
    ToolCall,
    ToolSpec,
    Turn,
    UsageError,
    World,
)
from agentworld_sim.controls import (
    DiskFull,
    Fault,
    SelectiveControl,
    ServerError,
    SlowAnswer,
    controls_in,
)
from agentworld_sim.scenario import control_profiles
from tests.controls.records import (
    ENGINE,
    ITEMS,
    REPORT_CALL,
    adding,
    ordering,
    records,
    records_scenario,
    texts,
)
from tests.properties import examples


def error(**selectors: Any) -> ServerError:
    return ServerError(name="e", text="no", **selectors)


async def pattern(control: Control, *calls: ToolCall) -> str:
    """`x` for each call that is struck, `.` for the others."""
    async with await records(control) as world:
        struck = [control.name in controls_in(await world.step(one)) for one in calls]
        return "".join(".x"[one] for one in struck)


ORDERS = [ordering(n) for n in range(1, 7)]


@pytest.mark.parametrize(
    ("selectors", "calls", "struck"),
    [
        ({"tool": "order"}, [ITEMS, *ORDERS[:2]], ".xx"),
        ({"tool": "[io]*"}, [ITEMS, adding("a"), *ORDERS[:1]], "x.x"),
        ({"domain": "mcp"}, [ITEMS], "x"),
        ({"domain": "terminal"}, [ITEMS], "."),
        ({"arguments": {"n": "[24]"}}, [ITEMS, *ORDERS], "..x.x.."),
        ({"arguments": {"items": '*"b"*'}}, [adding("a"), adding("a", "b")], ".x"),
        ({"first_turn": 2, "last_turn": 3}, ORDERS, ".xx..."),
        ({"nth": (1, 4), "tool": "order"}, [ITEMS, *ORDERS], ".x..x.."),
        ({"every": 3}, ORDERS, "..x..x"),
        ({"times": 2, "every": 2}, ORDERS, ".x.x.."),
        ({"state": {"items": True}}, [ITEMS, adding("a"), ITEMS], "..x"),
        ({"state": {"items": ["a"]}}, [adding("a"), ITEMS, adding("b"), ITEMS], ".xxx"),
        ({"state": {"items": False, "/root": True}}, [ITEMS, adding("a")], "xx"),
        ({"state": {"/no/such": True}}, [ITEMS], "."),
    ],
)
async def test_a_control_strikes_the_calls_that_all_its_selectors_select(
    selectors: dict[str, Any], calls: Sequence[ToolCall], struck: str
) -> None:
    assert await pattern(error(**selectors), *calls) == struck


@pytest.mark.parametrize(
    ("selectors", "problem"),
    [
        ({"probability": 0}, "probability of the control 'e' is 0: give more than 0 and at most 1"),
        ({"probability": 1.5}, "probability of the control 'e' is 1.5"),
        ({"times": 0}, "times of the control 'e' is 0: give 1 or more"),
        ({"nth": (2, 0)}, "nth of the control 'e' is 0: give 1 or more"),
        ({"every": 0}, "every of the control 'e' is 0: give 1 or more"),
        ({"first_turn": 5, "last_turn": 4}, "last_turn of the control 'e' is 4: give 5 or more"),
    ],
)
def test_a_control_that_can_never_strike_is_refused(
    selectors: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError) as raised:
        error(**selectors)
    assert problem in str(raised.value)


async def struck_calls(world: World, calls: Sequence[ToolCall]) -> dict[str, list[str]]:
    """What strikes each call, when all are made at once."""
    turns = await asyncio.gather(*(world.step(call) for call in calls))
    return {f"{turn.call.name}{turn.call.arguments}": controls_in(turn) for turn in turns}


CHANCES = [
    SlowAnswer(name="slow", probability=0.4),
    SlowAnswer(name="later", probability=0.2, tool="order"),
]


async def schedules_of(seed: int) -> list[dict[str, list[str]]]:
    """The calls that are struck in one order, in another, in a fork and in a world that is opened again."""
    calls = [*ORDERS, ITEMS, REPORT_CALL, adding("a")]
    mixed = random.Random(seed).sample(calls, len(calls))
    store = MemoryStore()
    async with (
        await records(*CHANCES, seed=seed, store=store) as one,
        await records(*CHANCES, seed=seed) as other,
    ):
        fork = await one.fork()
        schedules = [await struck_calls(one, calls), await struck_calls(other, mixed)]
        async with await World.open(
            one.id, store=store, at=one.root, engines=[ENGINE], controls=CHANCES
        ) as again:
            found: dict[str, list[str]] = {}
            at = one.root
            for call in mixed:
                turn = await again.step(call, at=at)
                at = turn.ref
                found[f"{call.name}{call.arguments}"] = controls_in(turn)
        schedules += [await struck_calls(fork, list(reversed(calls))), found]
        await fork.close()
        await one.rewind()
        return [*schedules, await struck_calls(one, mixed)]


async def require_equal_schedules(seeds: range) -> None:
    distinct: set[str] = set()
    for seed in seeds:
        first, *others = await schedules_of(seed)
        assert all(other == first for other in others), seed
        distinct.add(str(sorted(first.items())))
    assert len(distinct) > len(seeds) / 2


async def test_a_seed_strikes_the_same_calls_in_any_order_and_on_any_line_of_history() -> None:
    await require_equal_schedules(range(25))


@pytest.mark.slow
async def test_a_thousand_seeds_strike_the_same_calls() -> None:
    await require_equal_schedules(range(1000))


async def test_the_same_call_again_is_drawn_anew() -> None:
    struck = await pattern(SlowAnswer(name="s", probability=0.5), *[ITEMS] * 40)
    assert 8 < struck.count("x") < 32


async def test_a_fork_with_a_seed_of_its_own_is_struck_otherwise() -> None:
    async with (
        await records(SlowAnswer(name="s", probability=0.5)) as world,
        await world.fork(seed=9) as fork,
    ):
        assert await struck_calls(world, ORDERS) != await struck_calls(fork, ORDERS)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from([*ORDERS, ITEMS]), max_size=12), st.integers(0, 9))
async def test_branches_that_merge_count_what_they_struck(calls: list[ToolCall], seed: int) -> None:
    control = SlowAnswer(name="s", probability=0.5)
    async with await records(control, seed=seed) as world:
        turns: list[Turn] = []
        for half in (calls[: len(calls) // 2], calls[len(calls) // 2 :]):
            at = world.root
            for call in half:
                turns.append(await world.step(call, at=at))
                at = turns[-1].ref
        tips = [turn.ref for turn in turns if turn.ref not in {other.parent for other in turns}]
        if len(tips) == 2:
            merged = await world.merge(tips)
            distinct = {turn.ref: turn for turn in turns}
            struck = sum("s" in controls_in(turn) for turn in distinct.values())
            assert (await world.state(merged)).values.get("control/s", 0) == struck


@pytest.mark.parametrize(
    ("controls", "problem"),
    [
        (
            [
                {"kind": "server-error", "name": "a"},
                {"kind": "slow-answer", "name": "b", "tool": "add"},
            ],
            "controls[1].kind: it can never strike: 'a', before it, answers all of these calls.",
        ),
        (
            [{"kind": "server-error", "name": "a", "domain": "terminal"}],
            "controls[0].domain: found 'terminal'; allowed: mcp.",
        ),
        (
            [{"kind": "server-error", "name": "a", "tool": "reprot"}],
            "controls[0].tool: no tool of this scenario is named 'reprot'. Did you mean 'report'?",
        ),
        (
            [{"kind": "disk-full", "name": "a", "domain": "search"}],
            "domain of the control 'a' is 'search': it never strikes there. It does in: mcp, terminal",
        ),
        (["flaky-apy"], "Did you mean 'flaky-api'? Profiles: "),
        ([{"kind": "flaky-api", "polls": 3}], "controls[0].polls: unknown key."),
        ([{"kind": "pagination", "name": "p", "size": 0}], "size of the control 'p' is 0: give 1"),
    ],
)
def test_controls_that_cannot_be_are_refused_where_they_are_declared(
    controls: list[Any], problem: str
) -> None:
    text = json.dumps(records_scenario().model_dump(mode="json") | {"controls": controls})
    with pytest.raises(ScenarioError) as raised:
        Scenario.parse(text, source="s.json")
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    "controls",
    [
        [{"kind": "server-error", "name": "a", "times": 1}, {"kind": "slow-answer", "name": "b"}],
        [
            {"kind": "server-error", "name": "a", "tool": "add"},
            {"kind": "slow-answer", "name": "b"},
        ],
        [
            {"kind": "server-error", "name": "a", "tool": "a*"},
            {"kind": "quota", "name": "b", "tool": "items"},
        ],
        [{"kind": "server-error", "name": "a", "tool": "of_another_server"}],
    ],
)
def test_controls_that_leave_calls_for_one_another_may_stand(controls: list[Any]) -> None:
    assert records_scenario(*controls).controls


def test_a_kind_that_cannot_strike_in_a_scenarios_domains_is_refused() -> None:
    written = {"name": "a", "domains": ["search"], "controls": [{"kind": "read-only", "name": "r"}]}
    with pytest.raises(
        ValueError, match=r"it strikes in mcp, terminal, swe, os alone, and the domains are: search"
    ):
        Scenario.model_validate(written)
    assert not DiskFull(name="a").concerns(ToolSpec(name="x", domain="web"))


async def test_a_profile_is_named_like_a_kind_in_scenarios_and_by_processes() -> None:
    partial = {"kind": "partial-batches", "name": "half", "tool": "add"}
    scenario = records_scenario("out-of-quota", partial)
    async with await World.create(scenario, engines=[ENGINE]) as world:
        declared = (await world.state()).values["control/:declared"]
        assert declared == [
            {"kind": "quota", "limit": 10, "name": "out-of-quota-quota"},
            {"kind": "partial-batch", "tool": "add", "name": "half-partial-batch"},
        ]
        assert await texts(world, adding(*"abcd")) == ['{"added": 2, "total": 2}']
    async with await records("out-of-quota") as world:
        assert [one.name for one in world.controls] == ["out-of-quota-quota"]
        assert (await texts(world, *[ITEMS] * 11))[-1].startswith("403")
    with pytest.raises(UsageError, match="there is no kind of control 'out-of-quotas'"):
        await records("out-of-quotas")


@pytest.mark.parametrize("profile", control_profiles())
async def test_every_profile_makes_controls_that_work(profile: str) -> None:
    async with await records(profile, seed=3) as world:
        assert all(isinstance(one, SelectiveControl) and one.describe() for one in world.controls)
        await texts(world, adding(*"abc"), *ORDERS, ITEMS, REPORT_CALL)


async def test_a_condition_of_the_state_may_be_another_control() -> None:
    first = Fault(name="first", tool="order", error="no", times=1)
    then = error(tool="items", state={"control/first": 1})
    async with await records(first, then) as world:
        said = await texts(world, ITEMS, ordering(), ITEMS)
        assert [text == "500 Internal Server Error: no" for text in said] == [False, False, True]


async def test_an_engine_of_another_domain_is_struck_alike() -> None:
    engine = FunctionEngine({"tap": lambda arguments, values: "ok"}, domain="android")
    scenario = Scenario.model_validate(
        {"name": "a", "domains": ["android"], "tools": [{"name": "tap"}]}
    )
    control = replace(error(), domain="android")
    async with await World.create(scenario, engines=[engine], controls=[control]) as world:
        assert (await world.step(ToolCall("tap"))).observation.is_error
