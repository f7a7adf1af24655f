"""A recording of the machine's own bash in a jail."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from agentworld_sim.bench import shell_recording
from agentworld_sim.bench.rules import rules_of
from agentworld_sim.bench.shell_recording import record_shell
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.errors import UsageError


@pytest.mark.usefixtures("jail")
def test_ones_own_commands_are_recorded_with_what_they_change(tmp_path: Path) -> None:
    commands = tmp_path / "mine.txt"
    commands.write_text(
        "echo hi > a\ncat a nope\ndate +%N%N\nln -s a b; rm a\n"
        f"ls {tmp_path}; cat /etc/passwd; env | wc -l\n"
    )
    output = tmp_path / "out.jsonl"
    done = CliRunner().invoke(
        cli, ["bench", "make", "shell", str(commands), "--output", str(output)]
    )
    assert done.exit_code == 0, done.output
    (session,) = TransitionSet.load([output]).sessions
    wrote, failed, late, linked, looked = session.calls
    assert wrote.changes == {
        "files": {"/srv/app/a": {"path": "/srv/app/a", "type": "file", "mode": "644", "content": "hi\n"}}
    }  # fmt: skip
    assert failed.observation.text == "hi\ncat: nope: No such file or directory\n"
    assert late.by_chance == {late.observation.text.strip()}
    assert linked.changes["files"]["/srv/app/a"] is None
    # The jail has none of the host's folders and nothing of its environment but what the shell sets itself.
    assert looked.observation.text.count("No such file or directory") == 2


@pytest.mark.usefixtures("jail")
def test_drawn_commands_are_the_same_each_time_and_right_to_whoever_knows_them() -> None:
    found = record_shell()
    assert [one.calls for one in found.sessions] == [one.calls for one in record_shell().sessions]
    rules = [rules_of(one, one.truth.observation.text, False) for one in found.transitions()]
    assert all(all(one.values()) for one in rules)
    assert sum("error" in one for one in rules) >= 20
    assert sum(bool(one.changes) for session in found.sessions for one in session.calls) >= 20


def test_where_nothing_is_to_do_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    monkeypatch.setattr(shell_recording, "Jail", lambda: None)
    with pytest.raises(UsageError, match=r"has no commands: write one on each line"):
        record_shell([empty])
    done = CliRunner().invoke(cli, ["bench", "make", "computed", str(empty)])
    assert "no other source takes files" in done.output
