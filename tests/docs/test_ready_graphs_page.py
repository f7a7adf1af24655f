"""The page about ready graphs: its names, defaults and commands are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

from agentworld_graphs.ready import Settings, predict_then_act, red_team, rehearse

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "ready-graphs.md").read_text(encoding="utf-8")
GRAPHS = json.loads((ROOT / "graphs" / "langgraph.json").read_text(encoding="utf-8"))["graphs"]


def rows(header: str) -> list[list[str]]:
    """The rows of the table that begins with a cell."""
    table = PAGE.partition(f"\n| {header} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_every_graph_has_a_section_with_a_diagram() -> None:
    for name in GRAPHS:
        section = PAGE.partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]
        assert section.count("```mermaid\nflowchart") == 1, name


def test_every_field_of_the_configuration_is_on_the_page_with_its_graphs() -> None:
    listed = {
        (field, graphs)
        for fields, graphs, _ in rows("field")
        for field in re.findall(r"`(\w+)`", fields)
    }
    own = {
        "predict_then_act": predict_then_act.Choosing,
        "rehearse": rehearse.RealSettings,
        "red_team": red_team.Attack,
    }
    wanted = {(field, "all") for field in Settings.model_fields}
    for field in {field for one in own.values() for field in one.model_fields}:
        names = [name for name, one in own.items() if field in one.model_fields]
        if field not in Settings.model_fields:
            wanted.add((field, ", ".join(f"`{name}`" for name in names)))
    assert listed == wanted


def test_the_controls_and_the_grades_are_those_of_the_code() -> None:
    assert [row[0].strip("`") for row in rows("control")] == list(red_team.CONTROLS)
    grades = set(predict_then_act.Grade.__annotations__) - {"tool"}
    assert {row[0].strip("`") for row in rows("part of a grade")} == grades


def test_the_defaults_on_the_page_are_those_of_the_code() -> None:
    defaults = predict_then_act.Choosing()
    assert f"| {defaults.k}, {defaults.depth}, and" in PAGE
    assert f"| all, {red_team.Attack().steps} |" in PAGE


def test_the_commands_of_the_page_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nlanggraph-dev: " in makefile and "    make langgraph-dev\n" in PAGE
    assert "--config graphs/langgraph.json" in PAGE
