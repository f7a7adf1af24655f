"""`agentworld demo`, as a stranger runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentworld_sim.cli import cli

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))


def demo(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGENTWORLD, "demo", *arguments],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.slow
@pytest.mark.promise("host-files")
def test_the_demo_fixes_the_test_and_leaves_the_host_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = demo(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for shown in (
        "FAIL  report of the market's export",
        "computed",
        "14 passed, 0 failed",
        "tools/list",
        '+    while IFS= read -r record || [ -n "$record" ]; do',
        "✓ $ make test",
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
