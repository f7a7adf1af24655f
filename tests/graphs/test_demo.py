"""`agentworld demo`, as a stranger runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentworld_graphs._demo._demo_agent import HOURS, package_script
from agentworld_sim.cli import cli
from agentworld_sim.scenario import Scenario, TextFile
from agentworld_sim.store.home import home

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))


def demo(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGENTWORLD, "demo", *arguments],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "COLUMNS": "120",
            # Where the wheels of pytest are: `agentworld machine packages add pytest`.
            "AGENTWORLD_HOME": os.environ.get("AGENTWORLD_HOME", str(home())),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.slow
@pytest.mark.promise("host-files")
def test_the_demo_mends_the_package_and_leaves_the_host_as_it_was(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path_factory.mktemp("home")))
    subprocess.run([AGENTWORLD, "machine", "packages", "add", "pytest"], check=True)
    (tmp_path / "mine").write_text("mine")
    done = demo(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for shown in (
        "2 failed, 15 passed",
        "computed",
        "from 9660 to 10200 in a week of 10080",
        "17 passed",
        "tools/list",
        "+        return (moment - self.start) % WEEK < self.length",
        "✓ $ python3 -m pytest -q",
        "✓ real tools called: 0",
    ):
        assert shown in done.stdout
    assert "✗" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_model_that_does_not_exist_gets_one_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["demo", "--agent-model", "nobody:nothing"])
    assert done.exit_code == 2
    assert "cannot make the chat model 'nobody:nothing'" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_machines_programs_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wasmtime", None)
    done = CliRunner().invoke(cli, ["demo"])
    assert done.exit_code == 2
    assert "pip install 'agentworld-sim[machine]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_mends_the_package_of_the_scenario() -> None:
    (file,) = [one for path, one in Scenario.load("package-bug").files.items() if path == HOURS]
    assert isinstance(file, TextFile)
    text = file.text
    for message in package_script():
        for call in message.tool_calls:
            if call["name"] == "edit_file":
                assert text.count(call["args"]["old_string"]) == 1
                text = text.replace(call["args"]["old_string"], call["args"]["new_string"])
    names: dict[str, Any] = {}
    # What it is in the world, without a world: the reference of the scenario holds.
    exec(text, names)  # noqa: S102 -- shipped with the library
    assert names["parse"]("Sun 17:00-02:00").minutes_left("Mon", "00:30") == 90
