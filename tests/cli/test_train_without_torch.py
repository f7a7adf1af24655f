"""`agentworld train` where the extra `train` is not installed, as in this environment."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from agentworld_sim.cli import main
from experiments.pocket import AGENT_RECIPE

INSTALL = (
    "agentworld: this needs the package 'torch', which is not installed. Install it with"
    " `pip install 'agentworld-sim[train]'`.\n"
)


@pytest.mark.parametrize(
    "arguments",
    [
        ("all", "one-gpu"),
        ("cpt", "one-gpu", "cpt.steps=1"),
        ("rl", "one-gpu"),
        ("agent", str(AGENT_RECIPE)),
        ("all", "qwen-agentworld-35b", "--dry-run"),
        ("eval", "runs/x/rl/final"),
    ],
)
def test_a_stage_says_in_one_line_what_to_install(
    arguments: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert find_spec("torch") is None, "run this in the core's own environment"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["train", *arguments])
    assert (ended.value.code, capsys.readouterr().err) == (2, INSTALL)
    assert list(tmp_path.iterdir()) == []


def test_recipes_are_listed_and_checked_without_torch(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "recipes"])
    assert (ended.value.code, "one-gpu " in capsys.readouterr().out) == (0, True)
    with pytest.raises(SystemExit) as ended:
        main(["train", "rl", "one-gpu", "rl.stepps=4"])
    assert ended.value.code == 2
    assert "rl.stepps: unknown key. Did you mean 'steps'?" in capsys.readouterr().err
