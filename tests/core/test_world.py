"""`World`: steps, refs, forks, refusals, failures and cancellation."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from agentworld_sim import (
    AccessRefused,
    Answer,
    ArgumentsError,
    CheckInput,
    Control,
    EngineFailure,
    FunctionEngine,
    MemoryStore,
    Observation,
    ObservationRejected,
    Scenario,
    SqliteStore,
    StepContext,
    ToolCall,
    ToolSpec,
    UnknownToolError,
    UnknownWorldError,
    UsageError,
    World,
    WorldStore,
)
from agentworld_sim.controls import Next
from agentworld_sim.ports import blocking
from agentworld_sim.runtime.access import rule_for
from agentworld_sim.runtime.session_cache import LiveWorlds, live_limit

ADD = ToolSpec(
    name="add",
    input_schema={
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
        "additionalProperties": False,
    },
)
SLOW = ToolSpec(name="slow")
BROKEN = ToolSpec(name="broken")
PROMISED = ToolSpec(
    name="promised",
    output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
)


def add(
    arguments: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[Observation, dict[str, Any]]:
    total = values.get("total", 0) + arguments["amount"]
    return Observation(text=str(total)), {"total": total}


def broken(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    raise EngineFailure("the engine broke")


def promised(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Observation:
    return Observation(text="?", structured={"m": 1})


class Gate:
    """A tool that answers when it is let."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.let = asyncio.Event()

    async def __call__(self, arguments: Mapping[str, Any], values: Mapping[str, Any]) -> str:
        self.started.set()
        await self.let.wait()
        return "done"


SCENARIO = Scenario.model_validate(
    {"name": "sums", "domains": ("terminal",), "seed": 3, "access": {"hidden*": "refuse"}}
)


async def sums(store: WorldStore | None = None, *, gate: Gate | None = None, **more: Any) -> World:
    functions = {"add": add, "broken": broken, "promised": promised, "hidden_add": add}
    if gate is not None:
        functions["slow"] = gate  # pyright: ignore[reportArgumentType]
    world = await World.create(SCENARIO, store=store, engines=[FunctionEngine(functions)], **more)
    world.add_tools([ADD, SLOW, BROKEN, PROMISED, ToolSpec(name="hidden_add")])
    return world


@pytest.fixture(params=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "w.sqlite")
    async with await sums(store) as made:
        yield made
    store.close()


def adding(amount: int) -> ToolCall:
    return ToolCall("add", {"amount": amount})


def test_a_world_is_made_without_await(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "worlds" / "mine"))
    world = World.create_sync(id="lab", store=store, model=False)
    assert (world.id, world.store, store.path) == ("lab", store, tmp_path / "worlds" / "mine")


async def test_a_step_answers_and_moves_the_world(world: World) -> None:
    root = world.ref
    turn = await world.step(adding(2))
    assert turn.observation == Observation(text="2", provenance="computed")
    assert turn.parent == root
    assert world.ref == turn.ref
    assert (await world.step(adding(3))).observation.text == "5"


async def test_the_same_scenario_seed_and_calls_give_the_same_refs() -> None:
    refs: list[list[str]] = []
    for _ in range(2):
        async with await sums() as one:
            refs.append([one.ref, *[(await one.step(adding(n))).ref for n in (1, 2, 3)]])
    assert refs[0] == refs[1]


async def test_another_seed_is_another_history() -> None:
    first = await World.create(SCENARIO)
    second = await World.create(SCENARIO, seed=4)
    assert first.ref != second.ref


async def test_a_step_at_an_older_point_branches_and_leaves_the_world(world: World) -> None:
    start = world.ref
    head = await world.step(adding(1))
    branch = await world.step(adding(10), at=start)
    assert branch.observation.text == "10"
    assert world.ref == head.ref
    assert (await world.step(adding(1), at=branch.ref)).observation.text == "11"
    assert (await world.step(adding(1))).observation.text == "2"


async def test_a_fork_goes_its_own_way(world: World) -> None:
    await world.step(adding(1))
    fork = await world.fork()
    assert fork.ref == world.ref
    assert (await fork.step(adding(10))).observation.text == "11"
    assert (await world.step(adding(2))).observation.text == "3"
    assert [turn.observation.text for turn in await fork.trajectory()] == ["1", "11"]


async def test_a_fork_with_a_seed_differs_and_its_trajectory_has_calls_only(world: World) -> None:
    await world.step(adding(1))
    fork = await world.fork(seed=99)
    assert fork.ref != world.ref
    assert (await fork.state()).seed == 99
    await fork.step(adding(1))
    assert [turn.call.name for turn in await fork.trajectory()] == ["add", "add"]


async def test_a_world_is_reopened_by_its_id_and_at_a_point(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "w.sqlite")
    engines = [FunctionEngine({"add": add})]
    async with await sums(store, id="mine") as first:
        early = await first.step(adding(4))
        late = await first.step(adding(4))
    async with await World.open("mine", store=store, engines=engines) as again:
        again.add_tools([ADD])
        assert again.ref == late.ref
        assert again.scenario.name == "sums"
        assert (await again.step(adding(1))).observation.text == "9"
    async with await World.open("mine", store=store, at=early.ref, engines=engines) as at:
        assert at.ref == early.ref
    with pytest.raises(UnknownWorldError, match="no point 'nowhere'"):
        await World.open("mine", store=store, at="nowhere")
    store.close()


async def test_two_processes_on_one_world_lose_no_step(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    engines = [FunctionEngine({"add": add})]
    async with await sums(SqliteStore(path), id="shared") as first:
        second = await World.open("shared", store=SqliteStore(path), engines=engines)
        second.add_tools([ADD])
        for _ in range(5):
            await asyncio.gather(first.step(adding(1)), second.step(adding(1)))
        assert (await first.step(adding(0))).observation.text == "10"


async def test_an_unknown_tool_is_answered_with_the_nearest_name(world: World) -> None:
    with pytest.raises(UnknownToolError, match=r"no tool 'ad'\. Did you mean 'add'\?"):
        await world.step(ToolCall("ad"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "'amount' is a required property"),
        ({"amount": "x"}, r"'x' is not of type 'integer' \(at 'amount'\)"),
        ({"amount": 1, "amont": 2}, "Did you mean 'amount'"),
    ],
)
async def test_arguments_are_checked_against_the_schema(
    world: World, arguments: dict[str, Any], message: str
) -> None:
    before = world.ref
    with pytest.raises(ArgumentsError, match=message):
        await world.step(ToolCall("add", arguments))
    assert world.ref == before


@pytest.mark.promise("refuse-unknown")
async def test_a_tool_that_binds_to_nothing_is_refused(world: World) -> None:
    (bound,) = world.add_tools([ToolSpec(name="launch_rocket")])
    assert bound.access == "refuse"
    with pytest.raises(
        AccessRefused, match="'launch_rocket' is refused, because it binds to nothing"
    ):
        await world.step(ToolCall("launch_rocket"))


async def test_access_rules_of_the_scenario_are_kept(world: World) -> None:
    with pytest.raises(AccessRefused, match="the scenario's access rules say so"):
        await world.step(ToolCall("hidden_add", {"amount": 1}))


@pytest.mark.promise("real-by-name")
async def test_a_real_tool_is_never_answered_by_the_world(world: World) -> None:
    world.add_tools([ToolSpec(name="add", access="real")])
    with pytest.raises(AccessRefused, match="set to 'real'"):
        await world.step(ToolCall("add", {"amount": 1}))


def test_a_name_of_its_own_beats_a_pattern() -> None:
    rules: dict[str, Any] = {"git_*": "refuse", "git_log": "simulate"}
    assert rule_for("git_log", rules) == "simulate"
    assert rule_for("git_push", rules) == "refuse"
    assert rule_for("bash", rules) is None


@pytest.mark.promise("no-trace")
@pytest.mark.promise("failure-raises")
async def test_a_failed_step_leaves_no_trace(world: World) -> None:
    await world.step(adding(1))
    before = world.ref
    with pytest.raises(EngineFailure, match="the engine broke"):
        await world.step(ToolCall("broken"))
    assert world.ref == before
    assert (await world.step(adding(1))).observation.text == "2"


async def test_an_answer_that_breaks_its_output_schema_is_rejected(world: World) -> None:
    before = world.ref
    with pytest.raises(ObservationRejected, match=r"output-schema.*'n' is a required property"):
        await world.step(ToolCall("promised"))
    assert world.ref == before


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.promise("no-trace")
async def test_a_cancelled_step_commits_nothing(kind: str, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "w.sqlite")
    gate = Gate()
    async with await sums(store, gate=gate) as world:
        before = world.ref
        step = asyncio.create_task(world.step(ToolCall("slow")))
        await gate.started.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert world.ref == before
        assert await world.trajectory() == await world.trajectory(before)
        assert (await world.step(adding(1))).observation.text == "1"


async def test_a_step_cancelled_while_waiting_lets_the_others_go_on() -> None:
    gate = Gate()
    async with await sums(gate=gate) as world:
        first = asyncio.create_task(world.step(ToolCall("slow")))
        await gate.started.wait()
        second = asyncio.create_task(world.step(adding(1)))
        third = asyncio.create_task(world.step(adding(2)))
        await asyncio.sleep(0)
        second.cancel()
        gate.let.set()
        assert (await first).observation.text == "done"
        assert (await third).observation.text == "2"
        with pytest.raises(asyncio.CancelledError):
            await second


async def test_steps_of_one_world_run_one_after_another_in_order() -> None:
    async with await sums() as world:
        turns = await asyncio.gather(*(world.step(adding(1)) for _ in range(20)))
        assert [turn.observation.text for turn in turns] == [str(n) for n in range(1, 21)]


class Outage(Control):
    """A control that answers every second call itself."""

    name = "outage"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if step.state.values.get("total", 0) % 2:
            answer = step.enforce(Observation(text="503 Service Unavailable", is_error=True))
        else:
            answer = await next(step)
            changed = Observation(text=answer.observation.text + "!")
            answer = replace(answer, observation=changed)
        return answer.with_delay(5_000_000)


async def test_a_control_answers_changes_and_delays_and_is_marked_as_enforced() -> None:
    async with await sums(controls=[Outage()]) as world:
        start = (await world.state()).clock_us
        first = await world.step(adding(1))
        assert (first.observation.text, first.observation.provenance) == ("1!", "enforced")
        second = await world.step(adding(1))
        assert second.observation.is_error
        assert second.observation.provenance == "enforced"
        state = await world.state()
        assert state.values["total"] == 1
        assert state.clock_us - start == 5_000_000 + 100_000 + 5_000_000


class NoSevens:
    scope: Literal["all"] = "all"
    name = "no-sevens"

    def judge(self, given: CheckInput) -> str | None:
        return "seven is not acceptable" if given.observation.text == "7" else None


async def test_a_check_that_refuses_stops_the_step() -> None:
    async with await sums(checks=[NoSevens()]) as world:
        with pytest.raises(ObservationRejected, match="no-sevens: seven is not acceptable"):
            await world.step(adding(7))
        assert (await world.step(adding(8))).observation.text == "8"


@pytest.mark.parametrize("bad", ["", "a b", ".hidden", "x" * 129, "ü", "a/b"])
async def test_an_id_that_cannot_be_typed_is_refused(bad: str) -> None:
    with pytest.raises(UsageError, match="cannot be a world's id"):
        await World.create(SCENARIO, id=bad)


async def test_ids_are_128_random_bits() -> None:
    ids = {(await World.create(SCENARIO)).id for _ in range(3)}
    assert len(ids) == 3
    assert all(len(one) == 32 for one in ids)


async def test_a_closed_world_says_so() -> None:
    world = await sums()
    await world.close()
    with pytest.raises(UsageError, match="is closed"):
        await world.step(adding(1))


async def test_a_file_that_is_not_there_is_answered_with_the_nearest(world: World) -> None:
    with pytest.raises(UsageError, match=r"no file '/etc/hostnam'.*'/etc/hostname'"):
        await world.read_file("/etc/hostnam")


def test_steps_from_several_event_loops_queue_up() -> None:
    async def make() -> World:
        return await sums()

    from agentworld_sim.runtime.sync import run_sync

    world = run_sync(make())

    async def many() -> list[str]:
        return [
            turn.observation.text
            for turn in await asyncio.gather(*(world.step(adding(1)) for _ in range(5)))
        ]

    import threading

    seen: list[list[str]] = []
    runs: list[Callable[[], None]] = [
        lambda: seen.append(asyncio.run(many())),
        lambda: seen.append(asyncio.run(many())),
        lambda: seen.append(run_sync(many())),
    ]
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(text) for texts in seen for text in texts) == list(range(1, 16))


def test_as_many_worlds_stay_live_as_the_process_may_open_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed = {256: 32, 1024: 32, 1600: 60, 4096: 64, 1_000_000: 64, resource.RLIM_INFINITY: 64}
    files = list(allowed)

    def getrlimit(_: int) -> tuple[int, int]:
        return files[0], files[0]

    monkeypatch.setattr(resource, "getrlimit", getrlimit)
    while files:
        assert live_limit() == allowed[files[0]]
        del files[0]


async def test_only_the_worlds_used_last_keep_a_live_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentworld_sim.world.live_worlds", LiveWorlds(limit=3))
    worlds = [await sums() for _ in range(8)]
    for world in worlds:
        await world.step(adding(1))
    live = [bool(world._live) for world in worlds]  # pyright: ignore[reportPrivateUsage]
    assert live == [False] * 5 + [True] * 3
    assert [(await world.step(adding(1))).observation.text for world in worlds] == ["2"] * 8


async def test_a_world_that_is_answering_does_not_rest() -> None:
    gate = Gate()
    async with await sums(gate=gate) as world:
        step = asyncio.create_task(world.step(ToolCall("slow")))
        await gate.started.wait()
        assert not world.rest()
        gate.let.set()
        assert (await step).observation.text == "done"
        assert world.rest()


async def test_a_world_that_was_warmed_up_answers_as_any_other(tmp_path: Path) -> None:
    refs: list[str] = []
    for warm in (False, True):
        async with await sums() as world:
            if warm:
                await world.warm()
                assert world._live  # pyright: ignore[reportPrivateUsage]
            refs.append((await world.step(adding(1))).ref)
    assert refs[0] == refs[1]
    with pytest.raises(UsageError, match="is closed"):
        await world.warm()


async def test_who_owns_the_event_loop_may_let_a_commit_block_it_unless_it_must_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = (SqliteStore(tmp_path / "w.sqlite") for _ in range(2))
    in_threads: list[object] = []
    to_thread = asyncio.to_thread

    async def count(work: Callable[..., Any], *arguments: Any) -> Any:
        in_threads.append(work)
        return await to_thread(work, *arguments)

    async with await sums(store) as world:
        monkeypatch.setattr(asyncio, "to_thread", count)
        await world.step(adding(1))
        assert len(in_threads) == 1
        token = blocking.ALLOWED.set(True)
        await world.step(adding(1))
        assert len(in_threads) == 1
        with other._writing():  # pyright: ignore[reportPrivateUsage]
            waiting = asyncio.create_task(world.step(adding(1)))
            await asyncio.sleep(0.05)
            assert not waiting.done()
        assert (await waiting).observation.text == "3"
        assert len(in_threads) == 2
        monkeypatch.setattr("agentworld_sim.runtime.world_history.BRIEF_ENTRIES", 0)
        await world.step(adding(1))
        assert len(in_threads) == 3
        blocking.ALLOWED.reset(token)
    store.close()
    other.close()


async def test_what_a_binding_needs_is_asked_for_even_where_the_tools_schema_does_not() -> None:
    loose = ToolSpec(
        name="sh",
        input_schema={"type": "object", "properties": {"command": {"type": "string"}}},
        binds_to="terminal/bash",
    )
    async with await World.create(SCENARIO) as world:
        world.add_tools([loose])
        with pytest.raises(ArgumentsError, match="'command' is a required property"):
            await world.step(ToolCall("sh", {}))
        assert (await world.step(ToolCall("sh", {"command": "echo hi"}))).observation.text == "hi\n"


async def test_a_world_whose_tools_cannot_be_bound_leaves_its_id_free() -> None:
    store = MemoryStore()
    wrong = Scenario.parse(
        "name: s\ndomains: [swe]\ntools: [{name: run, binds_to: terminal/bash,"
        " input_schema: {type: object, properties: {cmd: {type: string}}, required: [cmd]}}]\n"
    )
    with pytest.raises(UsageError, match="terminal/bash"):
        await World.create(wrong, id="w", store=store, model=False)
    async with await World.create(id="w", store=store, model=False) as world:
        assert store.worlds() and world.id == "w"
