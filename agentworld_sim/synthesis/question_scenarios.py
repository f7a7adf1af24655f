"""Scenarios of the questions about fictional worlds."""

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
        recipe: The world.
        name: Of the scenario.
        question: As the step `questions` of a set keeps it.
    """
    world = {key: one for key, one in asdict(recipe).items() if one not in ("invented", 0.0)}
    return {
        "name": name,
        "description": f"A question about a fictional world ({question['difficulty']['level']}).",
        "domains": ["search"],
        "instruction": TASK.format(question=question["text"]),
        "seed": recipe.seed,
        "tools": list(TOOLS),
        "fiction": world,
        "goals": [
            {
                "answer": question["columns"],
                "rows": question["rows"],
                "unique": question["unique"],
                "metrics": question["metrics"],
            }
        ],
    }
