"""The page about tables: its scenario is one, and its figures are those of the corpus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from agentworld_sim.engines.table import Does, Role, plan_of
from agentworld_sim.scenario import OperationSpec, OutputSpec, Scenario, TableSpec, tables
from tests.engines.table.listings import LISTINGS, specs

PAGE = (Path(__file__).parents[2] / "docs/reference/tables.md").read_text(encoding="utf-8")


def test_the_scenario_of_the_page_is_one() -> None:
    text, every_table = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    scenario = Scenario.parse(text)
    Scenario.parse(f"name: every-table\ndomains: [mcp]\n{every_table}")
    assert list(scenario.operations) == ["search_issues", "vote_for_issue"]
    assert scenario.tables["issues"].to_table("issues").key == ("number",)


def test_every_role_and_every_key_is_on_the_page() -> None:
    assert get_args(tables.Role) == get_args(Role)
    assert get_args(tables.Does) == get_args(Does)
    words = set(re.findall(r"`(\w+)`", PAGE))
    wanted = {*get_args(Role), *get_args(Does)}
    for model in (TableSpec, OperationSpec, OutputSpec):
        wanted |= set(model.model_fields)
    assert wanted - words == set()


def test_the_figures_of_the_page_are_those_of_the_corpus() -> None:
    total = sum(len(listing["tools"]) for listing in LISTINGS.values())
    bound = sum(len(plan_of(specs(listing)).operations) for listing in LISTINGS)
    left = sum(len(listing["left_to_others"]) for listing in LISTINGS.values())
    none = sum(name.startswith("no_") for name in LISTINGS)
    text = " ".join(PAGE.split())
    assert (
        f"has {total} tools in {len(LISTINGS)} listings, {none} of which are no stores of records."
        f" {bound} tools bind, each as its plan says; {left} that a person would say work on records"
        f" are left to others; {total - bound - left} rightly do not bind."
    ) in text
