"""Shell builtins that tell about the shell itself: `enable`, `help`."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult

BUILTINS: Mapping[str, tuple[str, str]] = {
    ".": (". filename [arguments]", "Execute commands from a file in the current shell."),
    ":": (":", "Null command."),
    "[": ("[ arg... ]", "Evaluate conditional expression."),
    "alias": ("alias [-p] [name[=value] ... ]", "Define or display aliases."),
    "bg": ("bg [job_spec ...]", "Move jobs to the background."),
    "bind": ("bind [-lpsvPSVX] [-m keymap] [-f filename]", "Set Readline key bindings."),
    "break": ("break [n]", "Exit for, while, or until loops."),
    "builtin": ("builtin [shell-builtin [arg ...]]", "Execute shell builtins."),
    "caller": ("caller [expr]", "Return the context of the current subroutine call."),
    "cd": ("cd [-L|[-P [-e]] [-@]] [dir]", "Change the shell working directory."),
    "command": ("command [-pVv] command [arg ...]", "Execute a simple command."),
    "compgen": ("compgen [-abcdefgjksuv] [-o option] [word]", "Display possible completions."),
    "complete": ("complete [-abcdefgjksuv] [-pr] [name ...]", ("Specify how arguments are to be"
                 " completed by Readline.")),
    "compopt": ("compopt [-o|+o option] [-DEI] [name ...]", ("Modify or display completion"
                " options.")),
    "continue": ("continue [n]", "Resume for, while, or until loops."),
    "declare": ("declare [-aAfFgiIlnrtux] [name[=value] ...]", ("Set variable values and"
                " attributes.")),
    "dirs": ("dirs [-clpv] [+N] [-N]", "Display directory stack."),
    "disown": ("disown [-h] [-ar] [jobspec ... | pid ...]", "Remove jobs from current shell."),
    "echo": ("echo [-neE] [arg ...]", "Write arguments to the standard output."),
    "enable": ("enable [-a] [-dnps] [-f filename] [name ...]", ("Enable and disable shell"
               " builtins.")),
    "eval": ("eval [arg ...]", "Execute arguments as a shell command."),
    "exec": ("exec [-cl] [-a name] [command [argument ...]]", ("Replace the shell with the given"
             " command.")),
    "exit": ("exit [n]", "Exit the shell."),
    "export": ("export [-fn] [name[=value] ...]", "Set export attribute for shell variables."),
    "false": ("false", "Return an unsuccessful result."),
    "fc": ("fc [-e ename] [-lnr] [first] [last]", ("Display or execute commands from the history"
           " list.")),
    "fg": ("fg [job_spec]", "Move job to the foreground."),
    "getopts": ("getopts optstring name [arg ...]", "Parse option arguments."),
    "hash": ("hash [-lr] [-p pathname] [-dt] [name ...]", ("Remember or display program"
             " locations.")),
    "help": ("help [-dms] [pattern ...]", "Display information about builtin commands."),
    "history": ("history [-c] [-d offset] [n]", "Display or manipulate the history list."),
    "jobs": ("jobs [-lnprs] [jobspec ...]", "Display status of jobs."),
    "kill": ("kill [-s sigspec | -n signum | -sigspec] pid | jobspec ...", ("Send a signal to a"
             " job.")),
    "let": ("let arg [arg ...]", "Evaluate arithmetic expressions."),
    "local": ("local [option] name[=value] ...", "Define local variables."),
    "logout": ("logout [n]", "Exit a login shell."),
    "mapfile": ("mapfile [-d delim] [-n count] [-t] [array]", ("Read lines from the standard input"
                " into an indexed array variable.")),
    "popd": ("popd [-n] [+N | -N]", "Remove directories from stack."),
    "printf": ("printf [-v var] format [arguments]", ("Formats and prints ARGUMENTS under control of"
               " the FORMAT.")),
    "pushd": ("pushd [-n] [+N | -N | dir]", "Add directories to stack."),
    "pwd": ("pwd [-LP]", "Print the name of the current working directory."),
    "read": ("read [-ers] [-a array] [-d delim] [-p prompt] [-t timeout] [name ...]", ("Read a line"
             " from the standard input and split it into fields.")),
    "readarray": ("readarray [-d delim] [-n count] [-t] [array]", ("Read lines from a file into an"
                  " array variable.")),
    "readonly": ("readonly [-aAf] [name[=value] ...]", "Mark shell variables as unchangeable."),
    "return": ("return [n]", "Return from a shell function."),
    "set": ("set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]", ("Set or unset values"
            " of shell options and positional parameters.")),
    "shift": ("shift [n]", "Shift positional parameters."),
    "shopt": ("shopt [-pqsu] [-o] [optname ...]", "Set and unset shell options."),
    "source": ("source filename [arguments]", "Execute commands from a file in the current shell."),
    "suspend": ("suspend [-f]", "Suspend shell execution."),
    "test": ("test [expr]", "Evaluate conditional expression."),
    "times": ("times", "Display process times."),
    "trap": ("trap [-lp] [[arg] signal_spec ...]", "Trap signals and other events."),
    "true": ("true", "Return a successful result."),
    "type": ("type [-afptP] name [name ...]", "Display information about command type."),
    "typeset": ("typeset [-aAfFgiIlnrtux] name[=value] ...", ("Set variable values and"
                " attributes.")),
    "ulimit": ("ulimit [-SHabcdefiklmnpqrstuvxPRT] [limit]", "Modify shell resource limits."),
    "umask": ("umask [-p] [-S] [mode]", "Display or set file mode mask."),
    "unalias": ("unalias [-a] name [name ...]", ("Remove each NAME from the list of defined"
                " aliases.")),
    "unset": ("unset [-f] [-v] [-n] [name ...]", ("Unset values and attributes of shell variables"
              " and functions.")),
    "wait": ("wait [-fn] [-p var] [id ...]", "Wait for job completion and return exit status."),
}  # fmt: skip
"""Usage and purpose of every builtin, in the order in which `enable` lists them."""

_HELP_START = """\
GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)
These shell commands are defined internally.  Type `help' to see this list.
Type `help name' to find out more about the function `name'.
Use `info bash' to find out more about the shell in general.
Use `man -k' or `info' to find out more about commands not in this list.

A star (*) next to a name means that the command is disabled.

"""


def enable(call: CommandCall) -> CommandResult:
    names = [word for word in call.argv if not word.startswith("-")]
    if not names:
        disabled = "n" in "".join(word for word in call.argv if word.startswith("-"))
        listed = "" if disabled else "".join(f"enable {name}\n" for name in BUILTINS)
        return CommandResult(listed)
    unknown = [name for name in names if name not in BUILTINS]
    errors = "".join(f"bash: line 1: enable: {name}: not a shell builtin\n" for name in unknown)
    return CommandResult("", errors, 1 if unknown else 0)


def help_(call: CommandCall) -> CommandResult:
    options = "".join(word[1:] for word in call.argv if word.startswith("-") and word != "--")
    patterns = [word for word in call.argv if not word.startswith("-")]
    if not patterns:
        return CommandResult(_HELP_START + _two_columns())
    found = [name for name in BUILTINS if any(fnmatch.fnmatchcase(name, p) for p in patterns)]
    if not found:
        word = patterns[0]
        return CommandResult("", f"bash: line 1: help: no help topics match `{word}'.  Try `help"
                             f" help' or `man -k {word}' or `info {word}'.\n", 1)  # fmt: skip
    return CommandResult("".join(_topic(name, options) for name in found))


def _topic(name: str, options: str) -> str:
    usage, purpose = BUILTINS[name]
    if "d" in options:
        return f"{name} - {purpose}\n"
    return f"{name}: {usage}\n" if "s" in options else f"{name}: {usage}\n    {purpose}\n"


def _two_columns() -> str:
    usages = [usage for usage, _ in BUILTINS.values()]
    half = (len(usages) + 1) // 2
    pairs = zip(usages[:half], [*usages[half:], ""], strict=False)
    return "".join(f" {_cut(left, 37):<38} {_cut(right, 34)}".rstrip() + "\n"
                   for left, right in pairs)  # fmt: skip


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ">"


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


COMMANDS: Mapping[str, Command] = {"enable": enable, "help": help_}
