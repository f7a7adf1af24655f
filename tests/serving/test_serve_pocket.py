"""`agentworld serve --pocket`: the model that comes with a clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import agentworld_sim

PACKAGE = Path(agentworld_sim.__file__).parent
POCKET = PACKAGE.parent / "fixtures" / "pocket-world"


def serve(home: Path, *arguments: str, package: Path = PACKAGE) -> subprocess.CompletedProcess[str]:
    """`agentworld serve`, of the package at a place."""
    script = "import sys; from agentworld_sim.cli import main; main(['serve', *sys.argv[1:]])"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(package.parent), "AGENTWORLD_HOME": str(home)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_pocket_model_of_a_clone_is_served_as_it_was_trained(tmp_path: Path) -> None:
    done = serve(tmp_path, "--pocket", "--dry-run", "--environment", str(tmp_path / "none"))
    assert done.returncode == 0
    assert str(POCKET) in done.stdout
    for said in (
        *("--served-model-name pocket-world", "--max-model-len 1024", "--dtype float32"),
        *("--enforce-eager", "--reasoning-parser qwen3"),
    ):
        assert said in done.stdout


def test_what_is_asked_for_beside_it_wins(tmp_path: Path) -> None:
    arguments = (
        "--max-model-len",
        "512",
        "--served-model-name",
        "mine",
        "--",
        "--dtype",
        "bfloat16",
    )
    done = serve(tmp_path, "--pocket", "--dry-run", *arguments)
    assert "--max-model-len 512" in done.stdout
    assert "--served-model-name mine" in done.stdout
    assert done.stdout.rindex("bfloat16") > done.stdout.index("float32")


def test_another_model_beside_it_is_refused(tmp_path: Path) -> None:
    done = serve(tmp_path, "--pocket", "--model", "Qwen/Other")
    assert done.returncode == 2
    assert "--model names 'Qwen/Other'. Leave one of them out" in done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package as it lies outside of a clone."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(PACKAGE, tmp_path / "site" / PACKAGE.name, ignore=ignored)


def test_outside_of_a_clone_it_says_where_the_model_is(tmp_path: Path, installed: Path) -> None:
    done = serve(tmp_path, "--pocket", package=installed)
    assert done.returncode == 2
    assert "comes with a clone of the repository, not with an installed package" in done.stderr
    assert "pip install -e ." in done.stderr


def test_a_clone_in_which_it_is_not_built_says_how_to_build_it(
    tmp_path: Path, installed: Path
) -> None:
    (installed.parent / "fixtures" / "pocket-world" / "prompts").mkdir(parents=True)
    done = serve(tmp_path, "--pocket", "--dry-run", package=installed)
    assert done.returncode == 2
    assert "`python -m experiments.pocket.rebuild`" in done.stderr
