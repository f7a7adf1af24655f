"""Tasks and a MCP server of a user's own, and recordings of real servers and of Chromium."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentworld_sim.bench.labels import labels_of
from agentworld_sim.bench.real_recording import record_tasks
from agentworld_sim.bench.run import figures_of
from agentworld_sim.bench.transfer.task_list import own_tasks, shipped_tasks
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.errors import UsageError
from tests.bench.test_computed_worlds import Oracle, play

HERE = Path(__file__).resolve().parent
GUIDE = HERE.parents[1] / "docs" / "guides" / "transfer.md"
SERVER = [sys.executable, str(HERE / "notes_server.py")]
OWN = ("--server", shlex.join(SERVER))


def document() -> dict[str, Any]:
    """The tasks of the guide."""
    found = re.search(r"(?s)```yaml\n(.*?)```", GUIDE.read_text("utf-8"))
    assert found
    return yaml.safe_load(found[1])


def write(path: Path, tasks: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(tasks, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write(tmp_path / "tasks.yaml", document())


def bench(*arguments: Any) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own: servers write to its standard error."""
    program = [sys.executable, "-m", "agentworld_sim.cli", "bench", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_calls_are_replayed_in_a_server_of_ones_own(tmp_path: Path, tasks: Path) -> None:
    output = tmp_path / "own.jsonl"
    done = bench("transfer", "--tasks", tasks, *OWN, "--output", output, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["computed"]["trials"] == 6
    assert figures["computed"]["worst"] == figures["computed"]["diverged"] == 0
    assert 0 < figures["computed"]["outside"] == figures["computed"]["inside"] < 1
    other = bench("transfer", "--tasks", tasks, "--server", "other", "--output", output)
    assert "holds another run" in other.stderr


def test_tasks_are_recorded_in_a_server_of_ones_own(tmp_path: Path, tasks: Path) -> None:
    done = bench("make", "mcp", tasks, *OWN, "--output", tmp_path / "own.jsonl")
    assert done.returncode == 0, done.stderr
    listed, paid = TransitionSet.load([tmp_path / "own.jsonl"]).transitions()
    assert listed.fields_changed == 0
    assert paid.truth.changes == {"notes": {"rent": {"slug": "rent", "text": "Paid."}}}
    assert "deterministic" in labels_of(paid)


async def test_what_the_shipped_server_did_is_right_in_a_simulation() -> None:
    found = await record_tasks(shipped_tasks("note-count")[:2])
    truths = [list(session.transitions()) for session in found.sessions]
    rows = [row for truth in truths for row in await play(truth, Oracle(truth), whole=True)]
    assert figures_of(rows)["state, after a task's last call"].share == 100.0
    assert sum(bool(one.truth.changes) for one in found.transitions()) == 2


async def test_pages_are_recorded_as_chromium_shows_them() -> None:
    (session,) = (await record_tasks(shipped_tasks("change-item-0"))).sessions
    assert not session.has_state
    assert [one.call.name for one in session.calls][:2] == ["browser_navigate", "browser_click"]
    assert "Saved." in session.calls[-1].observation.text
    assert not any(one.by_chance for one in session.calls)


@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        (("tasks", "paid"), {"plan": None}, "`plan`: TypeError"),
        (("scenario",), {"tables": None}, "`tables`"),
        (("scenario",), {"domains": ["bank"]}, "task 'paid'"),
        (("tasks", "paid"), {"goals": [{"answer": "Paid."}]}, "must be about records"),
        (("scenario", "tables", "notes"), {"generate": 3}, "`generate: 0`"),
        (
            ("scenario", "tables"),
            {"notes": {"generate": 0, "records": []}},
            "each table needs `key`",
        ),
    ],
)
def test_tasks_that_a_server_cannot_show_are_refused(
    place: tuple[str, ...], change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    whole = part = document()
    for name in place:
        part = part[name]
    part |= change
    with pytest.raises(UsageError, match=said):
        own_tasks(write(tmp_path / "tasks.yaml", whole))


def test_options_that_belong_together_are_asked_for(tmp_path: Path, tasks: Path) -> None:
    output = ("--output", tmp_path / "out.jsonl")
    for arguments in (
        ("transfer", "--tasks", tasks),
        ("transfer", *OWN),
        ("make", "mcp", tasks),
        ("make", "mcp", *OWN),
        ("make", "browser", *OWN),
    ):
        done = bench(*arguments, *output)
        assert done.returncode == 2
        assert "belong together" in done.stderr
