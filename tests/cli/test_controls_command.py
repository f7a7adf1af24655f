"""`agentworld controls`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from agentworld_sim.controls import control_kinds
from agentworld_sim.scenario import control_profiles
from tests.cli.in_process import run_command
from tests.controls.records import ITEMS, records


def command(*arguments: str) -> CompletedProcess[str]:
    return run_command(("controls", *arguments), environment=os.environ)


def test_all_kinds_and_profiles_are_listed() -> None:
    said = command("list").stdout
    assert "explicit transient:\n  fault " in said
    listed = [line.split()[0] for line in said.splitlines() if line.startswith("  ")]
    assert listed == [*control_kinds.names(), *control_profiles()]


def test_a_kind_is_shown_with_its_keys_and_a_profile_with_its_controls() -> None:
    said = command("show", "wrong-unit").stdout
    assert "  fields (required): Names or patterns of the fields" in said
    assert "  factor (100.0): " in said
    assert command("show", "out-of-quota").stdout == (
        'Ten calls are answered, and none after them.\n  - {"kind": "quota", "limit": 10}\n'
    )


def test_what_is_no_kind_and_no_profile_is_said() -> None:
    said = command("show", "rate-limt")
    assert said.returncode == 2
    assert said.stderr == (
        "agentworld: there is no kind of control and no profile 'rate-limt'. Did you mean 'rate-limit'?"
        " `agentworld controls list` names them all.\n"
    )


async def test_a_profile_is_proposed_by_what_a_trajectory_shows(tmp_path: Path) -> None:
    async with await records("rate-limited") as world:
        for _ in range(6):
            await world.step(ITEMS)
        (await world.trajectory()).write(tmp_path / "run.jsonl")
    said = command("suggest", str(tmp_path / "run.jsonl")).stdout
    assert said.startswith("rate-limited\n  ")
    assert "call 6 (items): it was told '429 Too Many Requests. Retry-After: 60'" in said
    (found,) = json.loads(command("suggest", "--json", str(tmp_path / "run.jsonl")).stdout)
    assert (found["profile"], len(found["evidence"])) == ("rate-limited", 1)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("run.jsonl", None, "does not exist"),
        ("run.jsonl", "nothing\n", "line 1: not a turn"),
    ],
)
def test_a_file_that_holds_no_calls_is_said(
    name: str, text: str | None, problem: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    said = command("suggest", str(tmp_path / name))
    assert (said.returncode, said.stdout) == (2, "")
    assert problem in said.stderr


def test_calls_that_show_nothing_are_said(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("")
    said = command("suggest", str(tmp_path / "run.jsonl"))
    assert (said.stdout, said.stderr) == ("", "Nothing in these calls speaks for a profile.\n")
