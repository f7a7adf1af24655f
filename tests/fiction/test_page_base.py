"""Worlds of scenarios that name a fictional world: their pages are built once, and found again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentworld_sim import Scenario, SqliteStore, StoreError, ToolCall, UsageError, World
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.page_base import fiction_base
from agentworld_sim.fiction.recipe import FictionRecipe

TEXT = """
name: makers
domains: [search]
tools: [search]
fiction: {family: products, seed: 3, rows: 60}
"""
SEARCH = ToolCall("web_search", {"queries": ["makers"]})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home"))
    return tmp_path / "home/cache/base"


async def text_of(world: World, call: ToolCall = SEARCH) -> str:
    observation = (await world.step(call)).observation
    assert observation.provenance == "computed"
    return observation.text


async def test_the_state_names_the_pages_by_recipe_and_hash() -> None:
    async with await World.create(Scenario.parse(TEXT), model=False) as world:
        base = (await world.state()).values["search/base"]
    recipe = {
        "family": "products",
        "seed": 3,
        "rows": 60,
        "names": "invented",
        "inconsistency": 0.0,
    }
    content = fiction_base(FictionRecipe(family="products", seed=3, rows=60)).content
    assert base == {"recipe": recipe, "content": content}


async def test_worlds_share_one_file_and_other_seeds_have_others(cache: Path) -> None:
    for seed in (3, 3, 4):
        text = TEXT.replace("seed: 3", f"seed: {seed}")
        async with await World.create(Scenario.parse(text), model=False) as world:
            assert (await text_of(world)).startswith("[1] https://")
    assert len(list(cache.iterdir())) == 2


async def test_a_world_that_is_opened_elsewhere_builds_its_pages_again(
    tmp_path: Path, cache: Path
) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    async with await World.create(Scenario.parse(TEXT), id="w", store=store, model=False) as world:
        first = await text_of(world)
    shutil.rmtree(cache)
    async with await World.open("w", store=store, model=False) as world:
        assert await text_of(world) == first
    store.close()


async def test_pages_that_a_release_makes_otherwise_are_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await World.create(Scenario.parse(TEXT), model=False) as world:
        shutil.rmtree(cache)
        another = Fiction.generate(FictionRecipe(family="products", seed=4, rows=60))

        def otherwise(recipe: FictionRecipe) -> Fiction:
            return another

        monkeypatch.setattr(Fiction, "generate", otherwise)
        with pytest.raises(StoreError, match="Open it with the release that made it"):
            await text_of(world)


async def test_a_family_that_there_is_not_is_named() -> None:
    with pytest.raises(UsageError, match="Did you mean 'products'"):
        await World.create(Scenario.parse(TEXT.replace("products", "produts")), model=False)


GOAL = """
goals:
  - answer: [maker, founded]
    rows: [[ROW]]
    unique: [maker]
    metrics: {founded: {metric: exact_match}}
"""


@pytest.mark.parametrize("withheld", [True, False])
async def test_results_show_the_values_of_an_answer_only_where_the_goal_says_so(
    withheld: bool,
) -> None:
    recipe = FictionRecipe(family="products", seed=3, rows=60)
    makers = Fiction.generate(recipe).rows["makers"]
    shown = 0
    for maker in makers:
        goal = GOAL.replace("ROW", f"{maker['name']}, {maker['founded']}")
        goal += "" if withheld else "    withheld: false\n"
        queries = [f"{maker['name']} founded", f"when was {maker['name']} founded"]
        async with await World.create(Scenario.parse(TEXT + goal), model=False) as world:
            text = await text_of(world, ToolCall("web_search", {"queries": queries}))
        shown += f"{maker['founded']}" in text
    assert bool(shown) != withheld
