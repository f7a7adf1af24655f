"""`agentworld machine`: what the user brings to simulated machines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require

PIP = "pip==24.0"
"""The machine's own: the newest that works without threads, and says nothing of a missing `ssl`."""

BUILT_PURE = {"CC": "false", "CXX": "false"}
"""Without a compiler a package whose compiled parts are optional is built without them."""


@click.group()
def machine() -> None:
    """What simulated machines are given: packages for their Python."""


@machine.group()
def packages() -> None:
    """Wheels of Python packages, which scenarios name in `machine.packages`.

    \b
      agentworld machine packages add pytest requests
      agentworld machine packages add --from-source markupsafe
    """


@packages.command()
@click.argument("requirements", nargs=-1, required=True)
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for a scenario's `wheels`; by default your own wheels.",
)
@click.option(
    "--from-source",
    is_flag=True,
    help="Build them here without a compiler: for packages whose compiled parts are optional.",
)
def add(requirements: tuple[str, ...], folder: Path | None, from_source: bool) -> None:
    """Download wheels with your own pip, with what they need, for the machine's Python 3.12.

    Only wheels without machine code can be used. The machine's own pip is downloaded too.
    """
    require("resolvelib", extra="machine")
    from agentworld_sim.engines.shell.wasi.package_layer import user_wheels
    from agentworld_sim.engines.shell.wasi.wheels import PYTHON, wheels_in

    target = folder or user_wheels()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the wheels cannot be kept in {target}: {error.strerror}. Name a folder that can be written: --to FOLDER."
        ) from None
    there = {path.name for path in target.glob("*.whl")}
    common = ["--disable-pip-version-check"]
    if from_source:
        with TemporaryDirectory() as place:
            named = [f"--no-binary={name}" for name in requirements]
            _pip(
                "wheel", *common, "--no-cache-dir", "--no-deps", *named, "-w", place, *requirements
            )
            for one in wheels_in(Path(place)):
                pure = "-".join([*one.path.name.split("-")[:2], "py3-none-any.whl"])
                one.require_pure()
                one.path.replace(target / pure)
    else:
        kind = ["--only-binary=:all:", f"--python-version={PYTHON}", "--platform=any"]
        kind += ["--implementation=py", "--abi=none", f"--find-links={target}"]
        _pip("download", *common, *kind, "-d", str(target), *requirements, PIP)
    for path in sorted(target.glob("*.whl")):
        if path.name not in there:
            click.echo(path.name)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", *arguments]
    done = subprocess.run(
        command, env={**os.environ, **BUILT_PURE}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        # The first that needs what cannot be had; pip then lists all versions that it tried.
        errors = re.findall(r"^ +(\S+ \S+ depends on .+)", done.stdout, re.MULTILINE)[:1]
        lines = done.stderr.splitlines()
        errors = errors or [line for line in lines if not line.startswith("WARNING")]
        raise UsageError(
            f"pip failed: {' '.join(errors).strip() or done.stdout.strip()}\nThe machine takes wheels without machine"
            " code alone. If the compiled parts of one are optional, add it first with --from-source."
        )
