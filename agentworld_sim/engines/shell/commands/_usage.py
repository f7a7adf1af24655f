"""`--version` and `--help` for commands written in Python here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell._packages import package_of_command, version_text

_USAGE: Mapping[str, str] = {
    "arch": "[OPTION]...\nPrint machine architecture.",
    "bash": "[GNU long option] [option] ...\n\tbash [GNU long option] [option] script-file ...",
    "date": "[OPTION]... [+FORMAT]\n  or:  date [-u|--utc|--universal] [MMDDhhmm[[CC]YY][.ss]]\n"
    "Display date and time in the given FORMAT.",
    "df": "[OPTION]... [FILE]...\nShow information about the file system on which each FILE resides,"
    "\nor all file systems by default.",
    "groups": "[OPTION]... [USERNAME]...\nPrint group memberships for each USERNAME or, if no"
    " USERNAME is specified, for\nthe current process (which may differ if the groups database"
    " has changed).",
    "hostname": "[-b] {hostname|-F file}         set host name (from file)\n"
    "       hostname [-a|-A|-d|-f|-i|-I|-s|-y]       display formatted name\n"
    "       hostname                                 display host name",
    "id": "[OPTION]... [USER]...\nPrint user and group information for each specified USER,\n"
    "or (when USER omitted) for the current process.",
    "install": "[OPTION]... [-T] SOURCE DEST\n  or:  install [OPTION]... SOURCE... DIRECTORY\n"
    "  or:  install [OPTION]... -t DIRECTORY SOURCE...\n  or:  install [OPTION]... -d DIRECTORY...",
    "less": "[options] file...",
    "mktemp": "[OPTION]... [TEMPLATE]\nCreate a temporary file or directory, safely, and print its"
    " name.\nTEMPLATE must contain at least 3 consecutive 'X's in last component.",
    "nproc": "[OPTION]...\nPrint the number of processing units available to the current process,\n"
    "which may be less than the number of online processors",
    "shuf": "[OPTION]... [FILE]\n  or:  shuf -e [OPTION]... [ARG]...\n"
    "  or:  shuf -i LO-HI [OPTION]...\nWrite a random permutation of the input lines to standard"
    " output.",
    "sleep": "NUMBER[SUFFIX]...\n  or:  sleep OPTION\nPause for NUMBER seconds.  SUFFIX may be 's'"
    " for seconds (the default),\n'm' for minutes, 'h' for hours or 'd' for days.",
    "sudo": "-h | -K | -k | -V\nusage: sudo -v [-AknS] [-g group] [-h host] [-p prompt] [-u user]\n"
    "usage: sudo -l [-AknS] [-g group] [-h host] [-p prompt] [-U user] [-u user]\n"
    "            [command]\nusage: sudo [-AbEHknPS] [-g group] [-h host] [-p prompt] [-u user]\n"
    "            [VAR=value] [-i|-s] [<command>]",
    "timeout": "[OPTION] DURATION COMMAND [ARG]...\n  or:  timeout [OPTION]\nStart COMMAND, and kill"
    " it if still running after DURATION.",
    "tty": "[OPTION]...\nPrint the file name of the terminal connected to standard input.",
    "uname": "[OPTION]...\nPrint certain system information.  With no OPTION, same as -s.",
    "whoami": "[OPTION]...\nPrint the user name associated with the current effective user ID.\n"
    "Same as id -un.",
}


def help_text(command: str) -> str:
    """What `command --help` prints, in short."""
    usage = _USAGE.get(command, "[OPTION]...")
    text = f"Usage: {command} {usage}\n"
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
