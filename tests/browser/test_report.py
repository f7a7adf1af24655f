"""The report of the pytest plugin, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentworld_fixtures._html_report import write_report
from tests.fixtures_plugin.report_records import everything


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Any:
    """The report, and all that the browser complains of."""
    file = tmp_path / "report.html"
    write_report(everything(), file)
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    page.complaints = []

    def complain(told: Any) -> None:
        page.complaints.append(told.url if hasattr(told, "url") else str(told))

    for event in ("console", "pageerror", "request"):
        page.on(event, complain)
    page.goto(file.as_uri())
    return page


def shown(page: Any) -> list[str]:
    return [name.inner_text() for name in page.locator("summary .name").all() if name.is_visible()]


def test_nothing_is_fetched_or_run_and_nothing_is_complained_of(opened: Any) -> None:
    assert opened.title() == "Tests in simulated worlds"
    assert [one for one in opened.complaints if not one.startswith("file://")] == []
    assert len(opened.complaints) == 1


def test_filters_show_what_they_say(opened: Any) -> None:
    assert len(shown(opened)) == 5
    chosen = {
        "failed": ["test_shop.py::test_refund[sim-2]"],
        "with imagined answers": ["test_shop.py::test_asks"],
        "with real answers": ["test_shop.py::test_sends"],
    }
    for label, names in chosen.items():
        opened.locator("label", has_text=label).click()
        assert shown(opened) == names
    opened.locator("label", has_text="all").click()
    assert len(shown(opened)) == 5


def test_filters_work_from_the_keyboard(opened: Any) -> None:
    opened.locator("#show-all").focus()
    opened.keyboard.press("ArrowRight")
    assert shown(opened) == ["test_shop.py::test_refund[sim-2]"]


def test_a_test_opens_and_shows_its_calls(opened: Any) -> None:
    case = opened.locator("details", has_text="test_refund[sim-1]").first
    assert not case.locator("li").first.is_visible()
    case.locator("summary").click()
    assert case.locator("li pre").first.inner_text() == "total 0\n"


@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(opened: Any, width: int, scheme: str) -> None:
    opened.emulate_media(color_scheme=scheme)
    opened.set_viewport_size({"width": width, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
