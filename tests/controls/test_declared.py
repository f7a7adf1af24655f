"""Controls as data: in scenarios, in the state, and added by packages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import MemoryStore, Scenario, ScenarioError, ToolCall, UsageError, World
from agentworld_sim.controls import Fault, control_kinds
from agentworld_sim.controls.control_list import DECLARED

ECHO = ToolCall("bash", {"command": "echo hi"})
TWICE = {"kind": "fault", "name": "twice", "tool": "bash", "error": "no", "times": 2}

ACME = """
from dataclasses import dataclass
from agentworld_sim import Answer, Control, Observation

@dataclass(frozen=True, kw_only=True)
class Shout(Control):
    name: str
    words: tuple[str, ...]
    limit: int = 3
    rank: list[int] | None = None

    def __post_init__(self):
        if not self.words:
            raise ValueError("`words` is empty: there is nothing to shout.")

    async def handle(self, step, next):
        return step.enforce(Observation(text=" ".join(self.words).upper()))

NOTHING = 3
"""


def scenario(*controls: dict[str, Any]) -> Scenario:
    return Scenario.model_validate({"name": "m", "domains": ["terminal"], "controls": controls})


async def said(world: World, at: str | None = None) -> str:
    return (await world.step(ECHO, at=at)).observation.text


async def test_a_declared_control_is_in_the_state_from_the_first_moment() -> None:
    async with await World.create(scenario(TWICE)) as world:
        assert (await world.state()).values == {DECLARED: [TWICE]}
        assert [await said(world) for _ in range(3)] == ["no\n", "no\n", "hi\n"]
        assert (await world.state()).values["control/twice"] == 2


async def test_it_gives_the_refs_that_the_same_control_of_a_process_gives() -> None:
    fault = Fault(name="twice", tool="bash", error="no", times=2)
    async with await World.create(scenario(TWICE)) as one:
        first = await one.step(ECHO)
    async with await World.create(scenario(), controls=[fault]) as other:
        second = await other.step(ECHO)
    assert (first.observation, first.change) == (second.observation, second.change)


async def test_a_world_without_any_is_named_as_before() -> None:
    plain = Scenario.model_validate({"name": "m", "domains": ["terminal"]})
    async with await World.create(plain) as world, await World.create(scenario()) as other:
        assert world.root == other.root
        assert (await world.state()).values == {}


async def test_reopened_and_forked_worlds_keep_declared_controls_and_their_counts() -> None:
    store = MemoryStore()
    async with await World.create(scenario(TWICE), id="w", store=store) as world:
        first = await world.step(ECHO)
        fork = await world.fork(controls=[])
    async with await World.open("w", store=store) as again:
        assert again.controls == ()
        assert [await said(again), await said(again)] == ["no\n", "hi\n"]
        assert await said(again, at=first.ref) == "no\n"
        assert await said(again, at=again.root) == "no\n"
    async with fork:
        assert [await said(fork), await said(fork)] == ["no\n", "hi\n"]


async def test_a_process_puts_its_own_controls_around_the_declared_ones() -> None:
    own = Fault(name="own", tool="bash", error="mine", times=1)
    async with await World.create(scenario(TWICE), controls=[own]) as world:
        assert [await said(world), await said(world)] == ["mine\n", "no\n"]


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings a kind of control, one that is none, and one that cannot be imported."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "acme_controls.py").write_text(ACME)
    info = tmp_path / "acme_controls-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-controls\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agentworld.controls]\n"
        "acme/shout = acme_controls:Shout\n"
        "acme/nothing = acme_controls:NOTHING\n"
        "acme/broken = acme_controls.missing:X\n"
    )


@pytest.mark.usefixtures("acme")
async def test_a_kind_that_a_package_brings_is_data_like_any_other() -> None:
    text = """
name: m
domains: [terminal]
controls:
  - {kind: acme/shout, name: loud, words: [go, away]}
"""
    async with await World.create(Scenario.parse(text), store=MemoryStore()) as world:
        assert await said(world) == "GO AWAY"
        async with await World.open(world.id, store=world.store) as again:
            assert await said(again) == "GO AWAY"


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("control", "problem"),
    [
        ("{kind: acme/shout, name: a, words: 3}", "words: found 3; allowed: a list."),
        ("{kind: acme/shout, name: a, words: []}", "`words` is empty: there is nothing to shout."),
        (
            "{kind: acme/shot, name: a}",
            (
                "hidden-fact, adversarial-text, acme/broken, acme/nothing, acme/shout. If it is"
                " not one of these, install the package 'acme'"
            ),
        ),
        (
            "{kind: acme/nothing, name: a}",
            (
                "the kind of control 'acme/nothing' of the package 'acme-controls' cannot be used (TypeError: 3"
                " is not a dataclass that subclasses Control and has a field `name`)"
            ),
        ),
        (
            "{kind: acme/broken, name: a}",
            (
                "the kind of control 'acme/broken' of the package 'acme-controls' cannot be used"
                " (ModuleNotFoundError: "
            ),
        ),
    ],
)
def test_what_is_wrong_with_a_kind_of_a_package_is_said(control: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        Scenario.parse(f"name: m\ndomains: [terminal]\ncontrols: [{control}]\n", source="s.yaml")
    assert problem in str(raised.value)


def test_a_function_of_this_process_is_no_part_of_a_scenario() -> None:
    with pytest.raises(ValueError, match="a Python function belongs to one process"):
        scenario({**TWICE, "when": str.isdigit})


@pytest.mark.usefixtures("acme")
async def test_a_stored_world_whose_package_is_gone_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    loud = {"kind": "acme/shout", "name": "loud", "words": ["go"]}
    async with await World.create(scenario(loud), id="w", store=store):
        pass
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(tmp_path)])
    monkeypatch.setattr(control_kinds, "_loaded", {})
    with pytest.raises(UsageError, match="install the package 'acme'"):
        await World.open("w", store=store)


async def test_two_controls_of_one_name_are_refused() -> None:
    twice = [Fault(name="f", tool="add"), Fault(name="f", tool="run")]
    with pytest.raises(UsageError, match="2 controls are named 'f'"):
        await World.create(model=False, controls=twice)
    declared = [{"kind": "fault", "name": "f", "tool": "run"}]
    lab = Scenario.model_validate({"name": "a", "domains": ["mcp"], "controls": declared})
    async with await World.create(lab, model=False, controls=twice[:1]) as world:
        with pytest.raises(UsageError, match="2 controls are named 'f'"):
            await world.listing()


async def test_data_among_the_controls_of_a_process_is_refused() -> None:
    data: Any = {"kind": "fault", "name": "f", "tool": "run"}
    with pytest.raises(UsageError, match=r"is no control: give objects that subclass Control"):
        await World.create(model=False, controls=[data])
