"""`agentworld mcp explain`: who would answer each tool of a server, and why."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.scenario import Scenario
from tests.mcp.command_runner import run_command
from tests.mcp.conftest import DATA

TRACKER = ("--", sys.executable, str(DATA / "mcp_listing.py"), "issue_tracker")


def run_process(*words: str) -> str:
    """What `agentworld mcp …` prints as a process of its own: it leaves the upstream's pipes behind."""
    done = subprocess.run(
        [sys.executable, "-m", "agentworld_mcp_shim", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A snapshot of the issue tracker."""
    folder = tmp_path_factory.mktemp("snapshot")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTWORLD_HOME", str(folder))
        run_process("snapshot", "-o", str(folder / "tracker.json"), *TRACKER)
    return str(folder / "tracker.json")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home"))


def explain(*words: str) -> subprocess.CompletedProcess[str]:
    return run_command("mcp", "explain", *words)


def test_it_shows_tables_tools_and_reasons_in_eighty_columns(tracker: str) -> None:
    done = explain("--snapshot", tracker)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["table", "key", "belongs", "to", "records"]
    assert lines[2].split() == ["issues", "number", "owner,", "repo", "5"]
    assert any(line.startswith("close_issue          table: update issues") for line in lines)
    assert any(line.startswith("search_code          nobody: refused") for line in lines)
    assert lines[-2:] == [
        "16 tools: 10 by table, 6 by nobody.",
        "What a tool does is corrected in a scenario; --stub prints its `operations:`.",
    ]


def test_with_v_every_argument_is_shown(tracker: str) -> None:
    shown = explain("-v", "--snapshot", tracker).stdout
    for words in ("issue_number: key number", "since: unknown", "page: page", "body: field body"):
        assert words in shown


def test_for_programs_it_prints_json(tracker: str) -> None:
    done = explain("--json", "--access", "fork_repository=real", "--snapshot", tracker)
    content: dict[str, Any] = json.loads(done.stdout)
    tools = {tool["name"]: tool for tool in content["tools"]}
    assert tools["close_issue"] == {
        "name": "close_issue",
        "access": "simulate",
        "answered_by": "table",
        "what": "update issues",
        "why": [
            "'close' in the name",
            "'issue_number' names a record by its 'number'",
            "'owner', 'repo' says to what it belongs, as in the table's other tools",
            "the name says state = 'closed'",
            "borne out by create_issue, get_issue, list_issues …",
        ],
        "operation": {
            "does": "update",
            "table": "issues",
            "arguments": {
                "owner": {"role": "scope", "field": "owner"},
                "repo": {"role": "scope", "field": "repo"},
                "issue_number": {"role": "key", "field": "number"},
            },
            "fixed": {"state": "closed"},
        },
    }
    assert tools["fork_repository"]["answered_by"] == "real"
    assert tools["search_code"] == {
        "name": "search_code",
        "access": "refuse",
        "answered_by": "nobody",
        "what": "",
        "why": ["'code' names no stored record"],
    }
    assert [table["name"] for table in content["tables"]] == [
        "issue_comments",
        "issues",
        "pull_requests",
    ]
    assert content["tables"][0]["parents"] == {"issue_number": "issues.number"}


def test_a_stub_is_a_scenarios_section_that_changes_nothing_by_itself(
    tracker: str, tmp_path: Path
) -> None:
    stub = explain("--stub", "--snapshot", tracker).stdout
    assert "# nothing says what its argument 'q' does\n  # search_issues:\n" in stub
    file = tmp_path / "scenario.yaml"
    file.write_text(f"name: corrected\ndomains: [mcp]\n{stub}", encoding="utf-8")
    assert list(Scenario.load(file).operations) == ["list_issues"]
    before = json.loads(explain("--json", "--snapshot", tracker).stdout)
    after = json.loads(explain("--json", "--scenario", str(file), "--snapshot", tracker).stdout)
    for content in (before, after):
        for tool in content["tools"]:
            tool.pop("why")
    assert after == before


def test_a_correction_in_the_scenario_is_shown(tracker: str, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(
        "name: corrected\ndomains: [mcp]\n"
        "tables: {issues: {records: [{owner: a, repo: b, number: 1, title: T}], generate: 0}}\n"
        "operations:\n"
        "  search_issues: {does: search, table: issues, arguments: {q: text}}\n"
        "  no_such_tool: {does: list, table: issues}\n",
        encoding="utf-8",
    )
    content = json.loads(explain("--json", "--scenario", str(file), "--snapshot", tracker).stdout)
    tools = {tool["name"]: tool for tool in content["tools"]}
    assert tools["search_issues"]["why"] == ["the scenario says so"]
    assert tools["search_issues"]["operation"]["arguments"]["q"] == "text"
    assert {table["name"]: table["records"] for table in content["tables"]}["issues"] == 1
    assert content["not_there"] == ["no_such_tool"]
    shown = explain("--scenario", str(file), "--snapshot", tracker).stdout
    assert "The scenario's `operations` name no_such_tool, which is not there." in shown


def test_a_snapshot_is_explained_as_the_server_is(tracker: str) -> None:
    assert explain("--snapshot", tracker).stdout == run_process("explain", *TRACKER)


def test_json_and_a_stub_at_once_are_refused(tracker: str) -> None:
    done = explain("--json", "--stub", "--snapshot", tracker)
    assert done.returncode == 2
    assert "--json and --stub print different things. Give one of them." in done.stderr


def test_names_of_tables_that_look_misspelt_in_a_scenario_are_told(
    tracker: str, tmp_path: Path
) -> None:
    scenario = tmp_path / "tracker.yaml"
    scenario.write_text(
        "name: tracker\ndomains: [mcp]\n"
        "tables: {isues: {records: [{number: 7}]}}\n"
        "operations: {close_issue: {does: update, table: issue}}\n"
    )
    lines = explain("--scenario", str(scenario), "--snapshot", tracker).stdout.splitlines()
    told = [line.rstrip() for line in lines]
    assert "No tool works on the scenario's table 'isues'. Did you mean 'issues'?" in told
    said = "'close_issue' works on a table 'issue' that has no fields. Did you mean 'issues'?"
    assert said in " ".join(told)


def test_arguments_that_a_correction_misspells_are_told(tracker: str, tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(
        "name: misspelt\ndomains: [mcp]\n"
        "operations:\n"
        "  update_issue:\n"
        "    does: update\n"
        "    table: issues\n"
        "    arguments: {isue_number: key}\n",
        encoding="utf-8",
    )
    content = json.loads(explain("--json", "--scenario", str(file), "--snapshot", tracker).stdout)
    assert content["doubts"] == [
        (
            "The scenario's operation 'update_issue' speaks of an argument 'isue_number', which the tool"
            " does not take. Did you mean 'issue_number'?"
        ),
    ]
    shown = explain("--scenario", str(file), "--snapshot", tracker).stdout
    assert "'isue_number'" in shown
