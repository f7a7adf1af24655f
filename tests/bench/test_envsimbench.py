"""Rows of EnvSimBench as transitions. The rows are ours, in the form that its scripts write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from agentworld_sim.bench.scores import score
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.cli import cli


def row(name: str, before: Any, after: Any, *, observation: Any, arguments: Any) -> Any:
    return {
        "task_info": {"env_id": "env_7_library", "step": 2},
        "step_detail": {
            "step": 2,
            "action": {"name": name, "arguments": arguments},
            "observation": observation,
            "config_before": before,
            "config_after": after,
        },
        "env_code": "class Library: ...",
    }


SHELF = {"books": {"b1": {"id": "b1", "lent": False}}, "open": True}
LENT = {"books": {"b1": {"id": "b1", "lent": True}}, "open": False}
ROWS = [
    row(
        *("lend", SHELF, LENT),
        observation={"role": "tool", "content": '{"success": true}'},
        arguments='{"book": "b1"}',
    ),
    row(
        *("lend", LENT, LENT),
        observation='{"success": false, "error": "It is lent."}',
        arguments={"book": "b1"},
    ),
]


def convert(tmp_path: Path, text: str) -> Result:
    (tmp_path / "rows.json").write_text(text, encoding="utf-8")
    arguments = ["envsimbench", str(tmp_path / "rows.json"), "--output", str(tmp_path / "out")]
    return CliRunner().invoke(cli, ["bench", "make", *arguments])


def test_a_row_is_a_transition_whose_state_is_known(tmp_path: Path) -> None:
    done = convert(tmp_path, json.dumps(ROWS))
    assert done.exit_code == 0, done.output
    lend, again = TransitionSet.load([tmp_path / "out"]).transitions()
    assert lend.truth.call.arguments == again.truth.call.arguments == {"book": "b1"}
    assert lend.session.instruction == "class Library: ..."
    assert (lend.fields_changed, again.fields_changed) == (2, 0)
    assert (lend.truth.observation.is_error, again.truth.observation.is_error) == (False, True)
    assert lend.side == again.side, "rows of one environment belong together"
    assert score(lend, '{"success": true}', False, lend.truth.changes).right
    assert not score(lend, '{"success": true}', False, {}).right


def test_another_file_is_refused(tmp_path: Path) -> None:
    for text, said in (
        (json.dumps([*ROWS, {"task": "terminal"}]), "row 3 is none of EnvSimBench: KeyError"),
        ("terminal", "JSONDecodeError"),
    ):
        done = convert(tmp_path, text)
        assert done.exit_code == 2
        assert said in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()
