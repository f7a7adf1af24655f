"""Writes the shipped scenario `fictional-web` and what the scripted research agent says in it, which are committed.

Usage, after a change of the family `products` or of its pages: python -m tests.data.make_fictional_web
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim.engines.search.web_page import WebPage
from agentworld_sim.fiction.answer_scores import CellMetric, GoldTable
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.synthesis.question_scenarios import yaml_of

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "fixtures/agentworld_fixtures/scenarios/fictional-web.yaml"
SCRIPT = ROOT / "graphs/agentworld_graphs/_demo/research_script.json"

RECIPE = FictionRecipe(family="products", seed=7, rows=80)
YOUNGEST = 2
"""So many makers are the answer."""

INSTRUCTION = """\
Find every maker that was founded in {since} or later, and how many people each employs. Answer with one Markdown table
with the columns Maker | Founded | Employees, a row for each maker. Write numbers as digits alone.

Use the search tools. Hand the table in with `submit_answer`, or as your last message.
"""


def texts() -> Mapping[Path, str]:
    """Both files; the same on every run."""
    fiction = Fiction.generate(RECIPE)
    pages = list(fiction_pages(fiction))
    every = fiction.rows["makers"]
    makers = sorted(every, key=lambda row: row["founded"])[-YOUNGEST:]
    gold = GoldTable(
        columns=("Maker", "Founded", "Employees"),
        rows=tuple((row["name"], row["founded"], row["staff"]) for row in makers),
        unique_columns=("Maker",),
        metrics={"Founded": CellMetric(), "Employees": CellMetric()},
    )
    scenario = {
        "name": "fictional-web",
        "description": "A question about an internet that exists nowhere.",
        "domains": ["search"],
        "instruction": INSTRUCTION.format(since=makers[0]["founded"]),
        "tools": ["search", "answer"],
        "fiction": {"family": RECIPE.family, "seed": RECIPE.seed, "rows": RECIPE.rows},
        "goals": [
            {
                "answer": list(gold.columns),
                "rows": [list(row) for row in gold.rows],
                "unique": list(gold.unique_columns),
                "metrics": {name: {"metric": one.metric} for name, one in gold.metrics.items()},
            }
        ],
    }
    listed = next(page for page in pages if page.kind == "table" and shows(page, every[0]))
    own = [
        next(
            page
            for page in pages
            if page.kind == "encyclopaedia" and shows(page, maker, "founded", "staff")
        )
        for maker in every
    ]
    script = [
        said(
            "One list may have all makers. When each was founded and whom it employs stands on its own page."
        ),
        said("First the list.", ("web_search", {"queries": ["list of makers"]})),
        said("The list knows all of them.", ("web_extractor", {"url": listed.url})),
        said(
            f"These are {len(every)}. I open them all.",
            *(("web_extractor", {"url": page.url}) for page in own),
        ),
        said("I have read every cell."),
        said(gold.markdown()),
    ]
    head = "# yaml-language-server: $schema=../../../docs/reference/scenario.schema.json\n"
    return {SCENARIO: head + yaml_of(scenario), SCRIPT: json.dumps(script, indent=2) + "\n"}


def shows(page: WebPage, maker: Mapping[str, Any], *columns: str) -> bool:
    """Whether a page shows these facts of a maker; any of them, where none is named."""
    shown = {cell.column for cell in page.cells if cell[:2] == ("makers", maker["id"])}
    return shown >= set(columns) if columns else bool(shown)


def said(text: str, *calls: tuple[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return {"text": text, "calls": [{"name": name, "args": args} for name, args in calls]}


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, encoding="utf-8")
