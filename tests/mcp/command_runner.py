"""The `agentworld` command within the test's own process."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, cast

import click
from click.testing import CliRunner

from agentworld_sim.cli import main


class _Program(click.Command):
    """Runs the command as its console script does, with its messages and exit codes."""

    def main(self, args: Any = None, *_: Any, **__: Any) -> Any:
        main(args)


def run_command(*arguments: str | Path, color: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs `agentworld …`; the environment and the folder are those of the test."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(cast("click.Command", _Program("agentworld")), words, color=color)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(words, result.exit_code, result.stdout, result.stderr)
