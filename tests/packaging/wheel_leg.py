"""Builds the wheel, installs it alone in a new environment, and runs tests outside the clone.

The editable install puts the repository on `sys.path`; this leg is where a missing file in the wheel,
or an import that only works there, is found.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PORTABLE = (
    *(f"tests/{name}" for name in ("core", "diff", "ingest", "runtime", "scenario", "schema")),
    *(
        f"tests/{name}"
        for name in ("data", "packaging/test_installed.py", "properties.py", "store", "types")
    ),
    *(f"tests/engines/table/{name}" for name in ("__init__.py", "desk.py")),
    *(f"tests/engines/shell/{name}" for name in ("__init__.py", "imagining.py")),
    "tests/controls/records.py",
    "tests/rollouts/tokenizers.py",
    "docs",
)
"""Tests that need no extra, and what they read."""

OF_THE_CLONE = (
    "tests/scenario/test_scenario.py::test_the_nginx_logs_are_what_their_generator_writes"
)
"""Compares files of the clone with each other."""

HINT = "pip install 'agentworld-sim["
"""What a command says whose extra is missing."""


def run(*command: str | Path, cwd: Path | None = None) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def require_hint(agentworld: Path, command: str) -> None:
    """A command whose extra is not installed says how to install it."""
    done = subprocess.run(
        [str(agentworld), command], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 2 or HINT not in done.stderr or "Traceback" in done.stderr:
        raise SystemExit(f"agentworld {command} gave {done.returncode}: {done.stderr}")


def require_no_weights(wheel: Path) -> None:
    """The pocket world model and its experiment stay in the clone."""
    names = zipfile.ZipFile(wheel).namelist()
    stray = [name for name in names if "pocket" in name or name.endswith(".safetensors")]
    if stray:
        raise SystemExit(f"the wheel contains the pocket world model: {', '.join(stray)}")


def require_no_pocket_model(agentworld: Path) -> None:
    """Outside of a clone, `serve --pocket` says where the model is."""
    done = subprocess.run(
        [str(agentworld), "serve", "--pocket"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 2 or "comes with a clone of the repository" not in done.stderr:
        raise SystemExit(f"agentworld serve --pocket gave {done.returncode}: {done.stderr}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", work / "dist", ROOT)
        (wheel,) = (work / "dist").glob("*.whl")
        run(sys.executable, "-m", "check_wheel_contents", wheel, cwd=ROOT)
        require_no_weights(wheel)
        run(sys.executable, "-m", "venv", work / "venv")
        python = work / "venv" / "bin" / "python"
        constraints = ("-c", ROOT / "constraints.txt")
        pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *constraints)
        run(*pip, f"{wheel}[pytest]", "pytest-asyncio", "hypothesis")
        for part in PORTABLE:
            source, target = ROOT / part, work / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
        (work / "pytest.ini").write_text(
            "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
            "markers =\n    promise(name): holds a promise\n    slow: waits, or starts processes\n"
        )
        for command in ("demo", "mcp"):
            require_hint(python.with_name("agentworld"), command)
        require_no_pocket_model(python.with_name("agentworld"))
        pytest = (python.with_name("pytest"), "--import-mode=importlib", "-q")
        run(*pytest, "--deselect", OF_THE_CLONE, "tests", cwd=work)


if __name__ == "__main__":
    main()
