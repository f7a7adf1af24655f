"""`agentworld world control`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.cli.in_process import run_command

Control = Callable[..., CompletedProcess[str]]


@pytest.fixture
def control(tmp_path: Path) -> Control:
    """The command on the world `lab`."""
    environment = {"AGENTWORLD_STORE": str(tmp_path / "store.sqlite"), "HOME": str(tmp_path)}

    def run(
        *arguments: str, before: tuple[str, ...] = ("world", "control", "lab")
    ) -> CompletedProcess[str]:
        return run_command((*before, *arguments), environment=environment)

    made = run(before=("shell", "--world", "lab", "-c", "true"))
    assert made.returncode == 0, made.stderr
    return run


def test_controls_are_added_listed_and_removed(control: Control) -> None:
    said = control("add", "fault", "name=busy", "tool=bash", "error=503 Gone", "nth=[1, 2]")
    assert said.returncode == 0, said.stderr
    assert json.loads(control("list", "--json").stdout) == [
        {"kind": "fault", "name": "busy", "tool": "bash", "error": "503 Gone", "nth": [1, 2]}
    ]
    assert '"busy"' in control("list").stdout
    assert (
        f"controls  {said.stdout.strip()}  enforced"
        in control("lab", before=("world", "show")).stdout
    )
    assert control("remove", "bu*").returncode == 0
    assert json.loads(control("list", "--json").stdout) == []
    assert "None." in control("list").stderr


def test_a_profile_is_added_whole(control: Control) -> None:
    assert control("add", "flaky-api").returncode == 0
    names = [one["name"] for one in json.loads(control("list", "--json").stdout)]
    assert names
    assert all(name.startswith("flaky-api-") for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "fualt", "name=x"), "Did you mean 'fault'?"),
        (("add", "fault", "name"), "'name' is not of the form KEY=VALUE"),
        (("add", "fault", "name=x", "name=y"), "'name=y' is given twice"),
        (("add", "fault", "name=x", "times=often"), "controls[0].times: found 'often'"),
        (("add", "fault", "name=x", "tol=bash"), "Did you mean 'tool'?"),
        (("remove", "x"), "no control 'x' is declared here"),
    ],
)
def test_a_mistake_is_one_clear_error(
    control: Control, arguments: tuple[str, ...], message: str
) -> None:
    done = control(*arguments)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_an_unknown_world_is_told(control: Control) -> None:
    done = control("list", before=("world", "control", "leb"))
    assert (done.returncode, "Did you mean 'lab'?" in done.stderr) == (2, True), done.stderr
