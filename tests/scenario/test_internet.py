"""The sections of a scenario that say which pages its search tools find."""

from __future__ import annotations

import pytest

from agentworld_sim.errors import ScenarioError
from agentworld_sim.scenario import Scenario

HEAD = "name: x\ndomains: [search]\n"


def test_a_scenario_without_pages_is_the_world_that_it_was() -> None:
    canonical = Scenario.parse(HEAD).canonical()
    assert '"fiction"' not in canonical and '"pages"' not in canonical


def test_a_fictional_world_is_part_of_what_a_scenario_is() -> None:
    plain = Scenario.parse(f"{HEAD}fiction: {{family: products}}")
    other = Scenario.parse(f"{HEAD}fiction: {{family: products, seed: 1}}")
    assert len({plain.canonical(), other.canonical(), Scenario.parse(HEAD).canonical()}) == 3
    assert plain.fiction is not None
    recipe = plain.fiction.recipe()
    assert (recipe.family, recipe.seed, recipe.rows, recipe.names) == (
        "products",
        0,
        400,
        "invented",
    )


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ("fiction: {family: products, rows: 5}", "fiction.rows: found 5"),
        ("fiction: {family: products, inconsistency: 2}", "fiction.inconsistency: found 2"),
        ("fiction: {family: products, names: fake}", "fiction.names: found 'fake'"),
        ("fiction: {seed: 1}", "fiction.family: required"),
        ("pages: {example.test: {title: a, text: b}}", "allowed: the address of a page"),
        ("pages: {'https://a.test/#b': {title: a, text: b}}", "allowed: the address of a page"),
        ("pages: {'https://a.test/': {text: b}}", "title: required"),
        ("pages: {'https://a.test/': {title: a, text: b, date: May}}", "allowed: a day such as"),
    ],
)
def test_what_cannot_be_is_refused(section: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(HEAD + section)
    assert told in str(caught.value)
