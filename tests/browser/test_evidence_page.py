"""The page of evidence, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.report.evidence_page import evidence_page
from tests.report.evidence_files import evidence


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Any:
    """The page, and all that the browser complains of."""
    file = tmp_path / "page.html"
    file.write_text(evidence_page({"one": evidence(), "two": evidence()}), encoding="utf-8")
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    page.complaints = []

    def complain(told: Any) -> None:
        page.complaints.append(str(told))

    for event in ("console", "pageerror"):
        page.on(event, complain)
    page.goto(file.as_uri())
    return page


def test_charts_are_drawn_within_their_place(opened: Any) -> None:
    assert opened.complaints == []
    assert opened.locator("svg").count() == 3
    for chart in opened.locator("svg").all():
        frame = chart.bounding_box()
        for dot in chart.locator("circle").all():
            box = dot.bounding_box()
            assert frame["x"] <= box["x"] + 3 <= frame["x"] + frame["width"]
            assert frame["y"] <= box["y"] + 3 <= frame["y"] + frame["height"]


def test_filters_show_the_calls_they_say_and_leave_the_figures(opened: Any) -> None:
    def calls() -> list[str]:
        return [
            one.inner_text()
            for one in opened.locator("details.case .soft").all()
            if one.is_visible()
        ]

    for label, names in {
        "silently corrupt": ["task_1/0"],
        "unseen tools": ["task_2/0"],
        "files differ": [],
        "all calls": ["task_1/0", "task_2/0"],
    }.items():
        opened.locator("label", has_text=label).click()
        assert calls() == names
        assert opened.locator("summary", has_text="agreement").is_visible()


@pytest.mark.parametrize("width", [360, 1000])
def test_nothing_is_wider_than_the_window(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
