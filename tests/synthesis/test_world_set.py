"""Sets of worlds in folders: what is done stays done, and nothing is half done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.synthesis import world_set, world_steps
from agentworld_sim.synthesis.datasheet import problems_of, sums_of
from agentworld_sim.synthesis.world_set import Step, WorldSet, name_of, recipes_of

RECIPES = recipes_of(["products", "careers"], 3, 5)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps that were really done, which take no time here."""
    calls: list[str] = []

    def step(name: str) -> Any:
        def work(recipe: FictionRecipe, earlier: Mapping[str, Any], **options: Any) -> Any:
            if name == "check" and recipe.seed == 6:
                raise KeyboardInterrupt
            calls.append(f"{name} {name_of(recipe)}")
            problems = ["odd"] if name == "questions" and recipe.family == "careers" else []
            return {"counts": {"things": 2, **options}, "problems": problems}

        return work

    names: tuple[Step, ...] = ("build", "questions", "check", "solve")
    monkeypatch.setattr(world_steps, "STEPS", {name: step(name) for name in names})
    return calls


def run(worlds: WorldSet, step: Step, **options: Any) -> Mapping[FictionRecipe, Mapping[str, Any]]:
    return worlds.run(step, options, 1, lambda: None)


def test_families_take_turns_and_seeds_count_up() -> None:
    assert [name_of(one) for one in RECIPES] == ["products-5", "careers-5", "products-6"]
    real = recipes_of(["products"], 1, 0, names="real", rows=60)
    assert (name_of(real[0]), real[0].rows) == ("products-0-real", 60)


def test_what_is_done_is_not_done_again(tmp_path: Path, done: list[str]) -> None:
    worlds = WorldSet.begin(tmp_path / "set", RECIPES)
    first = run(worlds, "build")
    assert done == ["build products-5", "build careers-5", "build products-6"]
    assert run(WorldSet.open(tmp_path / "set"), "build") == first
    assert len(done) == 3
    # A set may grow.
    more = WorldSet.begin(tmp_path / "set", recipes_of(["products", "careers"], 4, 5))
    run(more, "build")
    assert done[3:] == ["build careers-6"]


def test_another_option_is_done_anew_and_so_is_what_follows_from_it(
    tmp_path: Path, done: list[str]
) -> None:
    worlds = WorldSet.begin(tmp_path, RECIPES[:1])
    run(worlds, "build")
    for count in (2, 2, 3):
        run(worlds, "questions", count=count)
        assert not worlds.results("solve") or count == 2
        run(worlds, "solve")
    assert [one.split()[0] for one in done] == ["build", "questions", "solve", "questions", "solve"]


def test_what_another_release_did_is_done_anew(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds = WorldSet.begin(tmp_path, RECIPES[:1])
    run(worlds, "build")
    monkeypatch.setattr(world_set, "builder_hash", lambda family: "another")
    with pytest.raises(UsageError, match="is missing, or older than what it begins from"):
        run(worlds, "questions")
    run(worlds, "build")
    run(worlds, "questions")
    assert [one.split()[0] for one in done] == ["build", "build", "questions"]


def test_an_interrupted_step_goes_on_where_it_was(tmp_path: Path, done: list[str]) -> None:
    worlds = WorldSet.begin(tmp_path, RECIPES)
    run(worlds, "build")
    run(worlds, "questions")
    with pytest.raises(KeyboardInterrupt):
        run(worlds, "check")
    assert list(worlds.results("check")) == RECIPES[:2]
    assert not list(tmp_path.rglob("*.part"))
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        run(worlds, "check")
    assert done == []


def test_a_damaged_result_is_made_again(tmp_path: Path, done: list[str]) -> None:
    worlds = WorldSet.begin(tmp_path, RECIPES[:1])
    run(worlds, "build")
    (tmp_path / "worlds/products-5/build.json").write_text('{"made_')
    assert run(worlds, "build")[RECIPES[0]]["counts"] == {"things": 2}
    assert len(done) == 2


def test_results_are_summed_up_by_family(tmp_path: Path, done: list[str]) -> None:
    worlds = WorldSet.begin(tmp_path, RECIPES)
    run(worlds, "build")
    found = run(worlds, "questions")
    assert sums_of(found) == {
        "products": {"worlds": 2, "things": 4},
        "careers": {"worlds": 1, "things": 2},
        "all": {"worlds": 3, "things": 6},
    }
    assert problems_of(found) == ["careers-5: odd"]


def test_what_cannot_be_is_refused(tmp_path: Path, done: list[str]) -> None:
    with pytest.raises(UsageError, match=r"no set of worlds .* `agentworld fiction build"):
        WorldSet.open(tmp_path / "none")
    worlds = WorldSet.begin(tmp_path / "set", RECIPES)
    with pytest.raises(UsageError, match="the step 'build' of products-5 is missing"):
        run(worlds, "questions")
    with pytest.raises(UsageError, match="holds 1 worlds that these options do not make"):
        WorldSet.begin(tmp_path / "set", RECIPES[:2])
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        WorldSet.begin(tmp_path / "full", RECIPES)
    (tmp_path / "set/set.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        WorldSet.open(tmp_path / "set")
