"""The list of promises and the tests that hold them agree, both ways."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "safety.md"


def test_every_promise_has_a_test_and_every_such_test_a_promise() -> None:
    promised = set(
        re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    )
    held = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"mark\.promise\(\"([a-z-]+)\"\)", file.read_text(encoding="utf-8"))
    }
    assert promised == held
