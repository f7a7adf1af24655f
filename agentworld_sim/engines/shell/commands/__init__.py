"""Commands written here because the embedded shell's own differ from a plain Debian machine's.

Each module holds the commands of one kind and names them in a `COMMANDS` mapping.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands import (
    arguments,
    attributes,
    awk,
    builtins,
    chance,
    comparing,
    copying,
    disk_usage,
    expression,
    finding,
    folders,
    helper,
    identity,
    links,
    listing,
    packages,
    processes,
    resources,
    stamps,
    status,
    streams,
    time,
)

COMMANDS: Mapping[str, Command] = {
    **builtins.COMMANDS,
    **chance.COMMANDS,
    **helper.COMMANDS,
    **identity.COMMANDS,
    **packages.COMMANDS,
    **processes.COMMANDS,
    **resources.COMMANDS,
    **time.COMMANDS,
    **attributes.COMMANDS,
    **awk.COMMANDS,
    **streams.COMMANDS,
    **disk_usage.COMMANDS,
    **stamps.COMMANDS,
    **status.COMMANDS,
    **copying.COMMANDS,
    **folders.COMMANDS,
    **links.COMMANDS,
    **finding.COMMANDS,
    **comparing.COMMANDS,
    **expression.COMMANDS,
    **arguments.COMMANDS,
    **listing.COMMANDS,
}

IN_ORDER: frozenset[str] = frozenset(
    [
        "chgrp",
        "chmod",
        "chown",
        "cp",
        "dir",
        "du",
        "find",
        "install",
        "ln",
        "ls",
        "mkdir",
        "mv",
        "readlink",
        "realpath",
        "rmdir",
        "stat",
        "touch",
        "truncate",
        "vdir",
    ]
)
"""Commands whose messages and output keep their order when both go the same way.

bashkit would put all output before all messages. None of these reads standard input: it could not
run anything else while one waits.
"""
