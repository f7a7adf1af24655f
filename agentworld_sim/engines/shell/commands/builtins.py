"""Shell builtins that tell about the shell itself: `enable`, `kill -l`."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult

BUILTINS = tuple(
    (
        ". : [ alias bg bind break builtin caller cd command compgen complete compopt"
        " continue declare dirs disown echo enable eval exec exit export false fc fg getopts"
        " hash history jobs kill let local logout mapfile popd printf pushd pwd read readarray"
        " readonly return set shift shopt source suspend test times trap true type typeset"
        " ulimit umask unalias unset wait"
    ).split()
)
"""Every builtin, in the order in which `enable` lists them."""


def enable(call: CommandCall) -> CommandResult:
    names = [word for word in call.argv if not word.startswith("-")]
    if not names:
        disabled = "n" in "".join(word for word in call.argv if word.startswith("-"))
        listed = "" if disabled else "".join(f"enable {name}\n" for name in BUILTINS)
        return CommandResult(listed)
    unknown = [name for name in names if name not in BUILTINS]
    errors = "".join(f"bash: line 1: enable: {name}: not a shell builtin\n" for name in unknown)
    return CommandResult("", errors, 1 if unknown else 0)


COMMANDS: Mapping[str, Command] = {"enable": enable}
