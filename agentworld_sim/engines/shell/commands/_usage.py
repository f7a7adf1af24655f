"""`--version` and `--help` for commands written in Python here."""

from __future__ import annotations

from functools import wraps

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell._packages import package_of_command, version_text


def help_text(command: str) -> str:
    """What `command --help` prints, in short."""
    text = f"Usage: {command} [OPTION]...\n"
    package = package_of_command().get(command)
    if package is not None and package.name == "coreutils":
        text += (
            "\n      --help        display this help and exit\n"
            "      --version     output version information and exit\n"
            "\nGNU coreutils online help: <https://www.gnu.org/software/coreutils/>\n"
        )
    return text


def described(command: Command) -> Command:
    """Lets `command` answer a lone `--version` or `--help`."""

    @wraps(command)
    def answered(call: CommandCall) -> CommandResult:
        if len(call.argv) == 1 and call.argv[0] in ("--version", "--help"):
            name = call.name.rpartition("/")[2]
            text = version_text(name) if call.argv[0] == "--version" else help_text(name)
            if text:
                return CommandResult(text)
        return command(call)

    return answered
