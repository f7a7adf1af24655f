"""Builds the wheel, installs it alone in a new environment, and runs tests outside the clone.

The editable install puts the repository on `sys.path`; this leg is where a missing file in the wheel,
or an import that only works there, is found.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PORTABLE = ("core", "packaging/test_installed.py")
"""Tests that need nothing of the repository but themselves."""


def run(*command: str | Path, cwd: Path | None = None) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", work / "dist", ROOT)
        (wheel,) = (work / "dist").glob("*.whl")
        run(sys.executable, "-m", "check_wheel_contents", wheel, cwd=ROOT)
        run(sys.executable, "-m", "venv", work / "venv")
        python = work / "venv" / "bin" / "python"
        constraints = ("-c", ROOT / "constraints.txt")
        pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *constraints)
        run(*pip, f"{wheel}[pytest]", "pytest-asyncio", "hypothesis")
        for part in PORTABLE:
            source, target = ROOT / "tests" / part, work / "tests" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
        (work / "pytest.ini").write_text(
            "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        )
        run(python.with_name("pytest"), "--import-mode=importlib", "-q", "tests", cwd=work)


if __name__ == "__main__":
    main()
