"""`find` and `xargs`: the embedded shell's own walk, read and run; some tests, the exit codes and the words are here.

Its files have no owners and no umask, its folders no size, its links no times, and its clock is the host's.
What asks for one of these is answered here, file by file: such a test becomes an `-exec` of our helper.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC
from functools import partial
from itertools import pairwise, takewhile

from agentworld_sim.engines.shell._command import HELPER
from agentworld_sim.engines.shell.bash_shims import CHECKSUMS
from agentworld_sim.engines.shell.commands import _formats
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._options import Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_VALUED = frozenset(
    "name iname path ipath wholename iwholename lname ilname regex iregex regextype type xtype"
    " maxdepth mindepth inum links samefile uid gid fprint fprint0 fls fstype".split()
)
"""Primaries with an argument that the embedded `find` answers."""

_AGE = re.compile(r"[acm](time|min)\Z")
_NEWER = re.compile(r"newer([acm][acmt])?\Z|[ac]newer\Z")
_UNITS = {"min": 60_000_000, "time": 86_400_000_000}
_SIZE_UNITS = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_PART = re.compile(r"%([-#0 +]*)(\d*)(?:\.(\d+))?([ACT].|[sbkmMugUGitca])")
"""What `-printf` is answered here."""

_CURLY = "'|invalid mode|cannot delete|Expected a|File system loop|Unknown reg"
"""How the messages begin whose quotes are curly in a UTF-8 locale."""

Test = Callable[[FileStat], bool]


_ACTIONS = frozenset(
    "-print -print0 -printf -fprint -fprint0 -fprintf -ls -fls -exec -execdir -ok -okdir -delete".split()
)
"""Where there is none of these, what is found is printed."""

_WORDS = (
    (r"bash: line \d+: (.*): command not found", r"find: '\1': No such file or directory"),
    (r"(find: )invalid expression; (you have too many '\)')", r"\1\2"),
    (r"(find: )invalid .* operator ('.*') with nothing after it\.", r"\1expected an expression after \2"),
)  # fmt: skip
"""The embedded shell's messages, and GNU's."""


Batch = tuple[Sequence[str], list[str]]
"""A command of `-exec … +` and the names that it is to have."""

_MARK = "\x1e\x1f\x1e"
"""Stands around the name of a file before what is printed for it."""


@tool
def find(t: Tool) -> None:
    words = list(t.call.argv)
    if {"-version", "-help"} & set(words):
        t.add(t.call.native(["--version" if "-version" in words else "--help"]))
        return
    options = [words.pop(0) for _ in takewhile(lambda word: word in ("-H", "-L", "-P"), words[:])]
    starts = [words.pop(0) for _ in takewhile(lambda word: word[:1] not in tuple("-(!"), words[:])]
    if "" in starts:
        t.complain(f"{t.quote('')}: No such file or directory")
        starts = [start for start in starts if start]
        if not starts:
            return
    batches: list[Batch] = []
    expression = _rewrite(t, words, options, batches)
    if len(expression) > len(words) and not _ACTIONS & set(words):
        expression = ["(", *expression, ")", "-print"]
    found = t.call.native([*options, *starts, *expression])
    said = _words_of(t, found.stderr)
    if starts and not t.exists(starts[0]):
        # What is said of the first starting point comes before what is found below the others.
        t.err.append(said)
        said = ""
    lines, *parts = found.stdout.split(_MARK)
    late = not {"-depth", "-d", "-delete"}.isdisjoint(words)
    order = partial(t.in_tree_order, roots=starts or ["."], depth_first=late)
    t.out.extend(f"{name}\n" for name in order(lines.splitlines()))
    printed: dict[str, list[str]] = {}
    for (batch, _, name), text in zip(
        (part.partition(":") for part in parts[::2]), parts[1::2], strict=True
    ):
        printed.setdefault(name, []).append(text)
        if batch:
            batches[int(batch)][1].append(name)
    for name in printed if "-quit" in words else order(printed):
        t.out.extend(printed[name])
    t.err.append(said)
    t.code = max(t.code, found.exit_code)
    for (program, *arguments), names in batches:
        if names:
            done = t.call.native([*arguments, *order(names)], program=program)
            t.out.append(done.stdout)
            t.err.append(_words_of(t, done.stderr))
            t.code = max(t.code, int(done.exit_code != 0))


def _words_of(t: Tool, said: str) -> str:
    for theirs, real in _WORDS:
        said = re.sub(f"(?m)^{theirs}$", real, said)
    return t.requote(said, _CURLY)


def _with_mark(action: Sequence[str], batch: str = "") -> list[str]:
    """`action` after what tells for which file it prints."""
    return ["(", "-printf", f"{_MARK}{batch}:%p{_MARK}", *action, ")"]


def _rewrite(
    t: Tool, given: Sequence[str], options: Sequence[str], batches: list[Batch]
) -> list[str]:
    """The expression with what is answered here as calls of the helper.

    Raises:
        UsageError: the argument of one cannot be read.
    """
    done: list[str] = []
    words = list(given)
    while words:
        word = words.pop(0)
        name = word[1:] if word.startswith("-") else ""
        helped = [*options, word]
        if name in ("exec", "execdir", "ok", "okdir"):
            pairs = enumerate(pairwise(["", *words]), 1)
            end = next(
                (n for n, pair in pairs if pair[1] == ";" or pair == ("{}", "+")), len(words)
            )
            command, words = words[:end], words[end:]
            if name.startswith("ok") and len(command) > 1:
                done += _call_helper(helped, command[0])
            elif name == "exec" and command[-2:] == ["{}", "+"] and len(command) > 2:
                done += _with_mark([], str(len(batches)))
                batches.append((command[:-2], []))
            else:
                done += _with_mark([word, *command])
        elif name in _VALUED:
            done += [word, *words[:1]]
            del words[:1]
        elif name == "ls":
            done += _with_mark(["-exec", "ls", "-dils", "{}", ";"])
        elif name == "printf" and words:
            done += _with_mark(_printf(t, helped, words.pop(0)))
        elif name in ("print", "print0") and _ACTIONS & set(given) - {"-print"}:
            done += _with_mark([word])
        elif _is_ours(name) and words:
            _test_of(t, name, words[0])
            done += _call_helper(helped, words.pop(0))
        else:
            done.append(word)
    return done


def _is_ours(name: str) -> bool:
    return bool(name in ("size", "perm", "user", "group") or _AGE.match(name) or _NEWER.match(name))


def _call_helper(words: list[str], value: str) -> list[str]:
    return ["-exec", HELPER, "find", *words, value, "{}", ";"]


def _printf(t: Tool, helped: list[str], form: str) -> list[str]:
    """`-printf` in pieces, each answered by who can."""
    for found in re.finditer(r"%[-#0 +]*[\d.]*([^\W\dABCTabcdfgGhHiklmMnpPstuUyY])", form):
        t.err.append(f"find: warning: unrecognized format directive `%{found[1]}'\n")
    done, at = ["("], 0
    for part in _PART.finditer(form):
        if at < part.start():
            done += ["-printf", form[at : part.start()]]
        done += _call_helper(helped, part[0])
        at = part.end()
    return [*done, *(["-printf", form[at:]] if at < len(form) else []), ")"]


@tool
def answer(t: Tool) -> None:
    """The helper's part: `find [-L] PRIMARY VALUE FILE`."""
    *options, primary, value, operand = t.call.argv
    try:
        stat = t.stat(operand) if "-L" in options and t.exists(operand) else t.lstat(operand)
        if primary.startswith("-ok"):
            t.err.append(f"< {value} ... {operand} > ? ")
            t.code = 1
        elif primary == "-printf":
            t.out.append(_part(t, value, stat))
        else:
            t.code = int(not _test_of(t, primary[1:], value)(stat))
    except OSError:
        t.code = 1  # removed by an action of this very run


def _refuse(text: str) -> UsageError:
    return UsageError(f"find: {text}\n")


def _test_of(t: Tool, name: str, value: str) -> Test:
    if name == "size":
        return _size(value)
    if name == "perm":
        return _mode(t, value)
    if name in ("user", "group"):
        return _owner(t, name, value)
    return _newer(t, name, value) if _NEWER.match(name) else _age(t, name, value)


def _size(value: str) -> Test:
    found = re.match(r"([-+]?)(\d+)([bcwkMG]?)\Z", value)
    if not found:
        if value[-1:].isalpha() and value[-1:] not in _SIZE_UNITS:
            raise _refuse(f"invalid -size type `{value[-1:]}'")
        raise _refuse(f"Invalid argument `{value}' to -size")
    compare, unit = _comparison(found[1], int(found[2])), _SIZE_UNITS[found[3]]
    return lambda stat: compare(-(-stat.size // unit))


def _comparison(sign: str, wanted: int) -> Callable[[int], bool]:
    if sign == "+":
        return lambda value: value > wanted
    return (lambda value: value < wanted) if sign else lambda value: value == wanted


def _mode(t: Tool, value: str) -> Test:
    how, text = (value[0], value[1:]) if value[:1] in ("-", "/") else ("", value)
    if not _formats.is_mode(text):
        raise _refuse(f"invalid mode {t.quote(value)}")
    wanted = _formats.apply_mode(text, 0, directory=False, umask=0)
    if how == "/":
        return lambda stat: not wanted or bool(stat.mode & wanted)
    return lambda stat: (stat.mode & wanted if how else stat.mode) == wanted


def _owner(t: Tool, name: str, value: str) -> Test:
    user = name == "user"
    wanted = (user_names if user else group_names)(t.call).lookup(value)
    if wanted is None:
        said = "the name of a known user" if user else "the name of an existing group"
        raise _refuse(f"{t.quote(value)} is not {said}")
    return lambda stat: (stat.owner if user else stat.group) == wanted


def _age(t: Tool, name: str, value: str) -> Test:
    found = re.match(r"([-+]?)(\d*\.?\d+)\Z", value)
    if not found:
        raise _refuse(f"invalid argument `{value}' to `-{name}'")
    sign, amount, unit = found[1], float(found[2]), _UNITS[name[1:]]
    now_us = t.call.clock.now_us()
    if unit == _UNITS["time"]:
        compare = _comparison(sign, int(amount))
        return lambda stat: compare(max(-1, (now_us - stat.mtime_us) // unit))
    # As GNU: -N is younger than N minutes, +N older, N the minute in between.
    edge = now_us - int(amount * unit)
    if sign == "-":
        return lambda stat: stat.mtime_us > edge
    return lambda stat: stat.mtime_us < edge if sign else edge < stat.mtime_us <= edge + unit


def _newer(t: Tool, name: str, value: str) -> Test:
    if name.startswith("newer") and name.endswith("t"):
        try:
            seconds, nanoseconds = parse_date(value, t.call.clock.now_us(), UTC)
        except InvalidDate:
            said = "I cannot figure out how to interpret"
            raise _refuse(f"{said} {t.quote(value)} as a date or time") from None
        edge = seconds * 1_000_000 + nanoseconds // 1000
    else:
        try:
            edge = t.stat(value).mtime_us
        except OSError as error:
            raise _refuse(f"{t.quote(value)}: {strerror(error)}") from None
    return lambda stat: stat.mtime_us > edge


def _part(t: Tool, part: str, stat: FileStat) -> str:
    """One directive of `-printf`."""
    found = _PART.fullmatch(part)
    assert found is not None
    flags, width, precision, name = found.groups()
    text = _value(t, name, stat)[: int(precision) if precision else None]
    if "-" in flags:
        return text.ljust(int(width or 0))
    return text.rjust(int(width or 0), "0" if "0" in flags else " ")


def _value(t: Tool, name: str, stat: FileStat) -> str:
    if name[0] in "ACT" or name in "act":
        return _time(name[1:], stat.mtime_us)
    if name in "UG":
        names = (user_names if name == "U" else group_names)(t.call)
        return str(names.number(stat.owner if name == "U" else stat.group))
    if name in "ug":
        return stat.owner if name == "u" else stat.group
    if name == "M":
        return _formats.mode_text(stat.kind, stat.mode)
    blocks, mode = _formats.disk_size(stat.kind, stat.size) // 1024, f"{stat.mode:o}"
    return str({"s": stat.size, "k": blocks, "b": blocks * 2, "i": stat.inode, "m": mode}[name])


_FORMS = {
    "": "%a %b %e %H:%M:%S.%N0 %Y", "@": "%s.%N0", "+": "%Y-%m-%d+%H:%M:%S.%N0", "S": "%S.%N0",
    "T": "%H:%M:%S.%N0", "X": "%H:%M:%S.%N0",
}  # fmt: skip


def _time(letter: str, time_us: int) -> str:
    return _formats.format_time(_FORMS.get(letter, "%" + letter), time_us)


_OPTIONS = Options(
    "0a:d:E:i::I:L:n:rs:txP:",
    {
        "null": "0", "arg-file": "a", "delimiter": "d", "replace": "i", "max-lines": "L",
        "max-args": "n", "no-run-if-empty": "r", "max-chars": "s", "verbose": "t", "exit": "x",
        "max-procs": "P",
    },
    in_order=True,
)  # fmt: skip


@tool
def xargs(t: Tool) -> None:
    given = _OPTIONS.parse(t.name, t.call.argv)
    for name in "nLs":
        value = given.value(name)
        if value is not None and not value.isdigit():
            raise _OPTIONS.refuse(t.name, f'invalid number "{value}" for -{name} option')
    last = given.last("i", "I", "n", "L")
    if last in ("i", "I") or (last == "n" and given.value("n") == "1" and given.last("i", "I")):
        for letter, name in (("L", "max-lines"), ("n", "max-args")):
            if letter in given:
                t.err.append(
                    f"{t.name}: warning: options --{name} and --replace/-I/-i are mutually"
                    f" exclusive, ignoring previous --{name} value\n"
                )
    command = next(iter(given.operands), "echo")
    words = list(t.call.argv)
    if command in CHECKSUMS:
        at = len(words) - len(given.operands)
        words[at:at] = [HELPER, "checksum"]
    found = t.call.native(words)
    missing, said = f"bash: line 1: {command}: command not found\n", found.stderr
    if missing in said:
        # The embedded shell tries it for every batch.
        said = said.replace(missing, f"{t.name}: {command}: No such file or directory\n", 1)
        said = said.replace(missing, "")
    t.code = found.exit_code
    if 0 < t.code < 126 and not said.startswith(f"{t.name}: "):
        t.code = 123
    elif t.code == 255:
        said += f"{t.name}: {command}: exited with status 255; aborting\n"
        t.code = 124
    t.out.append(found.stdout)
    t.err.append(said)
