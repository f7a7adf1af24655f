"""Shell builtins that tell about the shell itself: `enable`, `kill -l`."""

from __future__ import annotations

from agentworld_sim.engines.shell._command import CommandCall, CommandResult

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


SIGNALS = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP"
    " TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
)
"""In the order of their numbers."""


def signal_table() -> str:
    """What `kill -l` prints."""
    names = list(enumerate(SIGNALS.split(), 1))
    names += [(34 + n, f"RTMIN+{n}" if n else "RTMIN") for n in range(16)]
    names += [(64 - n, f"RTMAX-{n}" if n else "RTMAX") for n in range(14, -1, -1)]
    cells = [f"{number:>2}) SIG{name}" for number, name in names]
    rows = [cells[start : start + 5] for start in range(0, len(cells), 5)]
    return "".join("\t".join(row) + ("\n" if len(row) == 5 else "\t\n") for row in rows)
