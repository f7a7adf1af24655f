"""What shell functions of the embedded shell call for the length of one script (see `bash_shims`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from agentworld_sim.engines.shell._command import HELPER, Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.commands import late_command, missing_on
from agentworld_sim.engines.shell.commands._formats import at, strftime, zone_of
from agentworld_sim.engines.shell.commands._tool import help_text
from agentworld_sim.engines.shell.commands.shuf_mktemp import random_sort
from agentworld_sim.engines.shell.image import PROGRAM_START
from agentworld_sim.engines.shell.live_files import quote_word
from agentworld_sim.engines.shell.programs import DATA, version_text


def helper(call: CommandCall) -> CommandResult:
    """Answers the function named by the first argument; new random bytes without one."""
    if not call.argv:
        return CommandResult()
    task = _TASKS.get(call.argv[0])
    if task is None:
        return CommandResult("", f"bash: {HELPER}: Permission denied\n", 126)
    return task(call)


def _about(call: CommandCall) -> CommandResult:
    name, option = call.argv[1], call.argv[2]
    if name == "sh":
        return CommandResult("", "sh: 0: Illegal option --\n", 2)
    if option == "--version":
        text = version_text(name)
        if text:
            return CommandResult(text)
        return CommandResult("", f"{name}: unrecognized option '{option}'\n", 1)
    return CommandResult(help_text(name))


def _awk(call: CommandCall) -> CommandResult:
    seconds = call.clock.now_us() // 1_000_000
    zone = zone_of(call)

    def program(text: str) -> str:
        text = re.sub(r"\bsrand\s*\(\s*\)", f"srand({seconds})", text)
        text = re.sub(r"\bsystime\s*\(\s*\)", str(seconds), text)
        return re.sub(
            r'\bstrftime\s*\(\s*("(?:[^"\\]|\\.)*")?\s*\)',
            lambda m: '"' + strftime((m[1] or '"%c"')[1:-1], at(seconds, zone)) + '"',
            text,
        )

    return _words([program(word) for word in call.argv[1:]])


def _jq(call: CommandCall) -> CommandResult:
    now_us = call.clock.now_us()
    now = f"{now_us // 1_000_000}.{now_us % 1_000_000:06d}".rstrip("0").rstrip(".")
    found = [
        re.sub(r'(?<![.$\w"-])now(?![\w"(:])', now, word) if not word.startswith("-") else word
        for word in call.argv[1:]
    ]
    return _words(found)


_BYTE = re.compile(r"\\(?:\\|x([0-9a-fA-F]{1,2}))")
_SPEC = re.compile(r"%(?:%|-?\d*\([^)]*\)(T)|[-+ #0']*(\*|\d+)?(?:\.(\*|\d+))?[a-zA-Z])")


def _printf(call: CommandCall) -> CommandResult:
    """The arguments with the world's time where `%(…)T` asks for the present."""
    words, at = list(call.argv[1:]), 0
    while at < len(words) and words[at] in ("-v", "--"):
        at += 2 if words[at] == "-v" else 1
    if at < len(words):
        # Of bytes that are written so the embedded shell loses those that are zero.
        words[at] = _BYTE.sub(lambda m: f"\\{int(m[1] or '5c', 16):03o}", words[at])
    now = str(call.clock.now_us() // 1_000_000)
    place = at + 1
    for spec in _SPEC.finditer(words[at] if at < len(words) else ""):
        if spec[0] == "%%":
            continue
        place += (spec[2], spec[3]).count("*")
        if spec[1] and place >= len(words):
            words += [*[""] * (place - len(words)), now]
        elif spec[1] and words[place] in ("-1", "-2"):
            words[place] = now
        place += 1
    return _words(words)


def _clock(call: CommandCall) -> CommandResult:
    seconds, micro = divmod(call.clock.now_us(), 1_000_000)
    return CommandResult(f"EPOCHSECONDS={seconds} EPOCHREALTIME={seconds}.{micro:06d}\n")


def _sort(call: CommandCall) -> CommandResult:
    names = [word for word in call.argv[1:] if not word.startswith("-")]
    flags = "".join(word[1:] for word in call.argv[1:] if re.fullmatch(r"-[a-zA-Z]+", word))
    text = call.stdin or ""
    if names:
        read = call.native(names, program="cat")
        if read.exit_code:
            said = read.stderr.splitlines()[0].replace("cat: ", "sort: cannot read: ", 1)
            return CommandResult("", said + "\n", 2)
        text = read.stdout
    lines = text.removesuffix("\n").split("\n") if text else []
    chosen = random_sort(lines, call.random, unique="u" in flags or "--unique" in call.argv)
    return CommandResult("".join(f"{line}\n" for line in chosen))


def _compgen(call: CommandCall) -> CommandResult:
    hidden = {*missing_on(call.machine), HELPER, PROGRAM_START}
    if "function" in call.argv:
        hidden |= set(call.argv[len(call.argv) - list(call.argv)[::-1].index("--") :])
    lines = dict.fromkeys((call.stdin or "").splitlines())
    shown = [line for line in lines if line not in hidden and not line.startswith("/proc/self/")]
    return CommandResult("".join(f"{line}\n" for line in shown), "", 0 if shown else 1)


TEXT_TOOLS = ("base64", "checksum", "column", "od_float")


def _words(words: list[str]) -> CommandResult:
    return CommandResult(" ".join(map(quote_word, words)))


def _as_tool(command: Command) -> Command:
    """`command`, called by its own name."""

    def call_it(call: CommandCall) -> CommandResult:
        return command(replace(call, name=call.argv[0], argv=call.argv[1:]))

    return call_it


def _umask(call: CommandCall) -> CommandResult:
    """`umask DEPTH [MASK]`: the mask set at a depth of subshells, or only that depth."""
    files = call.files
    depth = int(call.argv[1])
    if len(call.argv) > 2:
        files.mask.change(depth, int(call.argv[2], 8))
    else:
        files.mask.back_at(depth)
    return CommandResult()


_TASKS: Mapping[str, Callable[[CommandCall], CommandResult]] = {
    **{name: _as_tool(late_command("text_tools", name)) for name in TEXT_TOOLS},
    "cmp": _as_tool(late_command("diff_cmp", "cmp")),
    "find": _as_tool(late_command("find_xargs", "answer")),
    "gunzip": _as_tool(late_command("gzip", "gunzip")),
    "gzip": _as_tool(late_command("gzip", "gzip")),
    "tar": _as_tool(late_command("tar", "tar")),
    "umask": _umask,
    "about": _about,
    "awk": _awk,
    "clock": _clock,
    "compgen": _compgen,
    "jq": _jq,
    "printf": _printf,
    "sort": _sort,
    "srandom": lambda call: CommandResult(f"{call.random.getrandbits(32)}\n"),
}


def nothing(call: CommandCall) -> CommandResult:
    """The first word of a program's file, where the embedded shell reads it as a script."""
    return CommandResult()


BUILTINS = tuple((DATA / "builtins.txt").read_text("utf-8").split())
"""Every builtin, in the order in which `enable` lists them."""


def logout(call: CommandCall) -> CommandResult:
    return CommandResult("", "bash: line 1: logout: not login shell: use `exit'\n", 1)


def enable(call: CommandCall) -> CommandResult:
    names = [word for word in call.argv if not word.startswith("-")]
    if not names:
        disabled = "n" in "".join(word for word in call.argv if word.startswith("-"))
        listed = "" if disabled else "".join(f"enable {name}\n" for name in BUILTINS)
        return CommandResult(listed)
    unknown = [name for name in names if name not in BUILTINS]
    errors = "".join(f"bash: line 1: enable: {name}: not a shell builtin\n" for name in unknown)
    return CommandResult("", errors, 1 if unknown else 0)
