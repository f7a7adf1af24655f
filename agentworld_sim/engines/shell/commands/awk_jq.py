"""`awk` and `jq` programs that may not end run in a helper process, with the files that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agentworld_sim.engines.shell._command import CommandCall, CommandResult, Endless
from agentworld_sim.engines.shell.bash_shims import TEXT
from agentworld_sim.engines.shell.bash_texts import faithful, unfaithful
from agentworld_sim.engines.shell.isolated_process import run_isolated
from agentworld_sim.types.files import normal_path

MOST_BYTES = 32 * 1024 * 1024
"""Files handed to a helper, together."""

_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
_RUNS_COMMANDS = re.compile(r"\bsystem\s*\(|\|\s*getline|\bprintf?\b[^\n;}]*\|\s*[\"\w(]")
_NAMES_MADE_UP = re.compile(
    r"getline[^;\n]*<\s*[^\"\s]|>\s*\(|>\s*[A-Za-z_$(][\w$]*\s*(?:[;}\n]|$)"
)
_UNBOUNDED = re.compile(r"\b(?:def|repeat|until|while|limit)\b|\b(?:recurse|last|range)\s*\(")


def awk(call: CommandCall) -> CommandResult:
    program = _awk_program(call)
    if _RUNS_COMMANDS.search(program):
        return call.native(program="awk")
    return _run_apart(call, "awk", program=program, everything=bool(_NAMES_MADE_UP.search(program)))


def _awk_program(call: CommandCall) -> str:
    """All that may hold program text: files named by `-f`, and every argument."""
    texts = list(call.argv)
    for name in _option_files(call.argv, "-f"):
        try:
            path = name if name.startswith("/") else f"{call.cwd}/{name}"
            texts.append(call.files.read(path).decode("utf-8", "replace"))
        except OSError:
            continue
    return "\n".join(texts)


def jq(call: CommandCall) -> CommandResult:
    program = _awk_program(call)
    if _UNBOUNDED.search(TEXT.sub('""', program)):
        return _run_apart(call, "jq", program="")
    return call.native()


def _run_apart(
    call: CommandCall, name: str, *, program: str, everything: bool = False
) -> CommandResult:
    """Runs `call` as bashkit's `name` in a process that can be killed.

    It gets the files that the call or a string literal in `program` names; all below the working directory with
    `everything`, for a program that makes up names.

    Raises:
        Endless: it ran until the time of the turn was over.
        EngineFailure: its answer would not be a real machine's.
    """
    words = [*call.argv, *(word.partition("=")[2] for word in call.argv if "=" in word)]
    words += _LITERAL.findall(program)
    paths = {_path(call, word) for word in words if word and "\0" not in word}
    if everything:
        paths |= {path for path, info in call.files.walk(call.cwd) if info.kind == "file"}
    done = run_isolated(
        (name, *call.argv),
        stdin=call.stdin,
        cwd=call.cwd,
        env=call.env,
        files=_contents(call, sorted(paths)),
        seconds_left=call.seconds_left,
    )
    if done is None:
        raise Endless
    if done.error is not None:
        raise unfaithful(done.error, name)
    for path, data in sorted(done.files.items()):
        call.files.write(path, data)
    return CommandResult(done.stdout, faithful(done.stderr, script=name), done.exit_code)


def _path(call: CommandCall, word: str) -> str:
    return normal_path(word if word.startswith("/") else f"{call.cwd}/{word}")


def _contents(call: CommandCall, paths: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    size = 0
    for path in paths:
        try:
            if call.files.stat(path).kind != "file":
                continue
            data = call.files.read(path)
        except OSError:
            continue
        size += len(data)
        if size > MOST_BYTES:
            raise unfaithful(f"it reads more than {MOST_BYTES:,} bytes of files", call.name)
        found[path] = data
    return found


def _option_files(argv: Sequence[str], option: str) -> list[str]:
    """The values of `option` (`-f`) in `argv`, written apart or together."""
    found: list[str] = []
    for index, word in enumerate(argv):
        if word == option and index + 1 < len(argv):
            found.append(argv[index + 1])
        elif word.startswith(option) and not word.startswith("--") and len(word) > len(option):
            found.append(word[len(option) :])
    return found
