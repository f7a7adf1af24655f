"""`grep -r`: the embedded shell's own, its files in the order of their directories."""

from __future__ import annotations

from fnmatch import fnmatchcase

from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, tool
from agentworld_sim.engines.shell.programs import DATA

_LONG = (DATA / "grep_options.txt").read_text("utf-8").split()
_OPTIONS = Options(
    "EFGPe:f:iyvwxcLlm:oqsbHhnTzZA:B:C:ad:D:rRIU0123456789",
    {name: letter for name, _, letter in (word.partition("=") for word in _LONG)},
)


@tool
def grep(t: Tool) -> None:
    words = list(t.call.argv)
    try:
        given = _OPTIONS.parse(t.name, words)
    except UsageError:
        t.add(t.call.native())
        return
    named = given.operands[0 if {"e", "f"} & {name for name, _ in given.options} else 1 :]
    roots = [root for root in named if not _is_left_out(root, given)]
    if named and not roots:
        t.code = 1
        return
    for root in set(named) - set(roots):
        words.remove(root)
    folders = not roots or any(map(t.is_directory, roots))
    # The last three put their own marks around names.
    if not folders or given.last("q", "T", "z", "color", "colour"):
        t.add(t.call.native(words))
        return
    at = words.index("--") if "--" in words else len(words)
    done = t.call.native([*words[:at], "-nZH", *words[at:]])
    t.err.append(done.stderr)
    t.code = done.exit_code
    t.out.append(_in_order(t, given, done.stdout, roots or ["."]))


def _is_left_out(root: str, given: CommandLine) -> bool:
    """`--exclude-dir` holds for folders named on the command line too."""
    patterns = (pattern.rstrip("/") for pattern in given.values("exclude-dir"))
    return any(fnmatchcase(base_name(root), pattern) for pattern in patterns)


def _in_order(t: Tool, given: CommandLine, text: str, roots: list[str]) -> str:
    """What `grep -nZH` printed, file by file, as it prints with the options that were given."""
    if given.last("l", "L"):
        end = "\0" if "Z" in given else "\n"
        return "".join(name + end for name in t.in_tree_order(text.split("\0")[:-1], roots))
    found: dict[str, list[str]] = {}
    between = last = ""
    for line in text.splitlines(keepends=True):
        name, nul, rest = line.partition("\0")
        if not nul:
            between = line
        else:
            lines = found.setdefault(name, [])
            lines += [between] if last == between != "" and lines else []
            lines.append(_line(given, name, rest))
        last = line
    return between.join("".join(found[name]) for name in t.in_tree_order(found, roots))


def _line(given: CommandLine, name: str, rest: str) -> str:
    text = rest.lstrip("0123456789")
    mark = ":" if "c" in given else text[:1]
    head = "" if given.last("h", "H") == "h" else name + ("\0" if "Z" in given else mark)
    return head + (rest if "n" in given or "c" in given else text[1:])
