"""The page about fictional worlds: its families, keys and commands are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from agentworld_sim.cli._fiction import fiction
from agentworld_sim.fiction.schema_files import family_names
from agentworld_sim.scenario import FictionSpec

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "guides/fictional-worlds.md").read_text(encoding="utf-8")


def test_the_families_and_the_keys_are_those_of_the_code() -> None:
    row = PAGE.partition("| `family` |")[2].partition("\n")[0]
    assert re.findall(r"`(\w+)`", row) == list(family_names())
    table = PAGE.partition("| key | |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(FictionSpec.model_fields)


def test_the_commands_exist() -> None:
    tutorial = (DOCS / "tutorials/fictional-web.md").read_text(encoding="utf-8")
    assert used_in(PAGE) == list(fiction.commands)
    assert used_in(tutorial) == [one for one in fiction.commands if one not in ("design", "write")]


def used_in(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"^agentworld fiction (\w+)", text, re.MULTILINE)))
