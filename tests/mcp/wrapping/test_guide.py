"""What the guide shows is what the command does."""

from __future__ import annotations

import re
from pathlib import Path

from agentworld_mcp_shim.wrapping import CLIENTS, WrapChoice, unwrap_text, wrap_text

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "wrap.md").read_text(encoding="utf-8")
FILE = Path("/home/me/shop/.mcp.json")


def test_the_file_of_the_guide_becomes_what_the_guide_says() -> None:
    before, after = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    choice = WrapChoice(interpreter="/home/me/.venv/bin/python", world="lab")
    assert wrap_text(before, FILE, choice).text == after
    assert unwrap_text(after, FILE).text == before


def test_the_guide_says_of_every_client_whether_it_fills_in_placeholders() -> None:
    said = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \| (yes|no)", GUIDE, re.MULTILINE)
    known = [(one.title, one.name, "yes" if one.fills_env else "no") for one in CLIENTS]
    assert sorted(said) == sorted(known)
