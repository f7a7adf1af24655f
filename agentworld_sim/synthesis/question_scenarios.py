"""Scenarios of the questions about fictional worlds, as data and as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agentworld_sim.fiction.recipe import FictionRecipe

TOOLS = ("search", "answer")

TASK = """{question}

Use the search tools. Hand the table in with `submit_answer`, or as your last message.
"""


def scenario_of(recipe: FictionRecipe, name: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario as data: the world, the question, and the goal that is its answer.

    Args:
        question: As the step `questions` of a set keeps it.
    """
    return {
        "name": name,
        "description": f"A question about a fictional world ({question['difficulty']['level']}).",
        "domains": ["search"],
        "instruction": TASK.format(question=question["text"]),
        "seed": recipe.seed,
        "tools": list(TOOLS),
        "fiction": asdict(recipe),
        "goals": [
            {
                "answer": question["columns"],
                "rows": question["rows"],
                "unique": question["unique"],
                "metrics": question["metrics"],
            }
        ],
    }


def yaml_of(scenario: Mapping[str, Any]) -> str:
    """A scenario as people write one: texts of several lines as such, rows on one line each."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return yaml.dump(
        dict(scenario),
        Dumper=Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=110,
        default_flow_style=None,
    )
