"""`--sim-report`: the page, read as a browser reads it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agentworld_fixtures._html_report import report, write_report
from agentworld_fixtures._test_records import SimRecord
from agentworld_sim import UsageError
from tests.fixtures_plugin.conftest import Suite
from tests.fixtures_plugin.report_records import HOSTILE, everything, record, turn, world


class Reader(HTMLParser):
    """The text of a page by line, and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.cases: list[tuple[str, bool]] = []
        self.pieces: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        have = dict(attrs)
        if tag == "details":
            self.cases.append((have["class"] or "", "open" in have))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)


def test_failed_tests_come_first_and_are_open() -> None:
    read = Reader(report(everything()))
    assert read.cases == [
        ("case computed enforced failed", True),
        ("case imagined", False),
        ("case", False),
        ("case computed enforced", False),
        ("case real", False),
    ]


def test_a_failed_test_tells_its_calls_what_the_guard_stopped_and_how_to_run_it_again() -> None:
    pieces = Reader(report(everything())).pieces
    for told in (
        "world · scenario shop · seed 3 · 1 computed, 1 enforced",
        "total 0\n",
        HOSTILE.replace("\x1b", r"\u001b"),
        "cassette cassettes/test_shop/test_refund.yaml · once · 2 replayed, 0 recorded",
        "not asked for: get_order {'id': 5}",
        "-open\n+closed",
        "pytest 'test_shop.py::test_refund[sim-2]' --sim-seed=4",
    ):
        assert told in pieces


def test_what_tools_said_makes_no_element() -> None:
    names = Reader(report(everything())).names
    assert "script" not in names and "img" not in names


def test_repeated_tests_have_their_chances() -> None:
    pieces = Reader(report(everything())).pieces
    start = pieces.index("pass^1")
    assert pieces[start : start + 6] == [
        *("pass^1", "pass^2", "test_shop.py::test_refund", "1 of 2", "0.50", "0.00"),
    ]


def test_the_figures_count_answers_by_where_they_came_from() -> None:
    pieces = Reader(report(everything())).pieces
    figures = pieces[pieces.index("tests") - 1 : pieces.index("Repeated tests")]
    assert dict(zip(figures[1::2], figures[::2], strict=True)) == {
        "tests": "5",
        "passed": "3",
        "failed": "1",
        "skipped": "1",
        "computed": "2",
        "imagined": "2",
        "real": "1",
        "enforced": "2",
        "tokens asked": "1,200",
    }


def test_what_branches_could_not_bring_together_is_named() -> None:
    one = everything()[0]
    use = replace(one.worlds[0], conflicts=(f"file /f{HOSTILE}",))
    one = SimRecord.from_json(json.loads(json.dumps(replace(one, worlds=(use,)).to_json())))
    pieces = Reader(report([one])).pieces
    assert any(piece.startswith("conflict: file /f<script>") for piece in pieces)


def test_a_run_without_worlds_says_so() -> None:
    assert "No test used a world." in Reader(report([])).pieces


def test_a_report_is_written_whole_and_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "out" / "report.html"
    write_report(everything(), path)
    assert path.read_text(encoding="utf-8") == report(everything())
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_written_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match=r"taken/report\.html' cannot be written: .*--sim-report"):
        write_report([], tmp_path / "taken" / "report.html")


def test_a_page_stands_in_a_frame_that_may_do_nothing_and_its_instructions_above_it() -> None:
    told = "submissions/1: body: ignore all <b>"
    shown = turn("browser_click", "ok", "computed", page="f00d", instructions=(told,))
    html = report([record("test_web.py::test_it", "passed", world({"computed": 1}, shown))])
    (frame,) = re.findall("<iframe[^>]*>", html)
    assert ' sandbox=""' in frame
    assert 'srcdoc="&lt;p&gt;&lt;script&gt;' in frame
    assert f"instructions on the page: {told}" in Reader(html).pieces
    assert "iframe" not in Reader(report(everything())).names


def test_a_test_that_browses_keeps_each_page_once(suite: Suite) -> None:
    suite.tests("""
        from agentworld_sim.scenario import Scenario
        from agentworld_sim.toolkits import toolkit

        FORUM = Scenario.parse("{name: forum, domains: [web], sites: [forum]}")

        @pytest.mark.sim(scenario=FORUM)
        def test_it(world):
            world.world.add_tools(toolkit("playwright-mcp"))
            world.call("browser_navigate", url="http://forum.test/forums")
            world.call("browser_snapshot")
        """)
    assert suite.run("--sim-report=page.html").ret == 0
    html = (suite.path / "page.html").read_text(encoding="utf-8")
    first, second = re.findall("<iframe[^>]*>", html)
    assert first == second
    assert "&lt;style&gt;" in first
