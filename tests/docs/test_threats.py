"""The page of threats names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "mcp-threats.md"


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without its header."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_threat_names_tests_and_all_of_them_exist() -> None:
    found = rows("Threats and measures")
    assert found
    for threat, measure, held in found:
        assert measure, threat
        named = re.findall(r"`(tests/[^`:]+)::(test_[a-z0-9_]+)`", held)
        assert named and held.count("`") == 2 * len(named), threat
        for file, test in named:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(?:async )?def {test}\(", text, re.MULTILINE), f"{file}::{test}"


def test_what_is_not_defended_says_what_to_do() -> None:
    found = rows("Not defended")
    assert found
    assert all(len(row) == 2 and all(row) for row in found)
