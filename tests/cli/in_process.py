"""The `agentworld` command in this process, as its own process would behave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

from click.testing import CliRunner

from agentworld_sim.cli import cli


def run_command(
    arguments: tuple[str, ...],
    *,
    environment: Mapping[str, str],
    folder: Path | None = None,
    stdin: str = "",
) -> CompletedProcess[str]:
    """What the command wrote and its exit code.

    Args:
        arguments: After the command's name.
        environment: All variables it sees.
        folder: Where it stands.
        stdin: What it reads.
    """
    gone = dict.fromkeys(os.environ.keys() - environment.keys())
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        result = CliRunner().invoke(
            cli, arguments, input=stdin, env={**gone, **environment}, prog_name="agentworld"
        )
    finally:
        os.chdir(before)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)
