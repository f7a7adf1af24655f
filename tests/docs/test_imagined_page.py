"""The page about imagined programs is the code's."""

from __future__ import annotations

from pathlib import Path

from tests.docs.imagined_page import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "imagined-programs.md"


def test_the_page_is_written_from_the_list() -> None:
    command = "python -m tests.docs.imagined_page > docs/reference/imagined-programs.md"
    assert PAGE.read_text(encoding="utf-8") == page(), f"run: {command}"
