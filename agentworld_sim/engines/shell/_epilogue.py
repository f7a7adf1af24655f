"""What a kept shell leaves behind at the end of a script, and how it is put back.

bashkit forgets some of a shell's state between two calls (positional parameters, what `exec`
redirected, `SECONDS`), and it fires the EXIT trap at the end of each. So a script of a shell that goes
on is followed by an epilogue: it writes these down and takes the EXIT trap away. A script that leaves
the shell (`exit`, `set -e`, a signal) never reaches it; the trap fires as it should, and the next call
starts a new shell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentworld_sim.engines.shell._files import quoted

NOTES = "/dev/.kept"
"""Where the epilogue writes. `/dev` is no part of a world's files."""

_MARK = ":kept:"

_REDIRECT = r"\d*(?:>>|>\||<>|>&|<&|&>>|&>|>|<)(?![(])\s*(?:'[^']*'|\"[^\"]*\"|[^\s;&|<>()'\"]+)+"
_EXEC = re.compile(
    rf"(?:^|[;&|{{\n]|\b(?:then|do|else)\b)\s*exec((?:\s+{_REDIRECT})+)\s*(?=$|[;&|\n#}}])"
)
_ONE = re.compile(_REDIRECT)
_PARTS = re.compile(r"(\d*)(>>|>\||<>|>&|<&|&>>|&>|>|<)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection that `exec` made for the rest of the shell's life."""

    descriptor: str
    operator: str
    target: str
    """As written; the epilogue expands it."""

    @property
    def names_file(self) -> bool:
        return "&" not in self.operator or self.operator.startswith("&")

    def again(self, target: str, folder: str) -> str:
        """The redirection to make in the next call. A file that was opened is not emptied again."""
        if self.names_file and not target.startswith("/"):
            target = f"{folder.rstrip('/')}/{target}"
        operator = {">": ">>", ">|": ">>", "&>": "&>>"}.get(self.operator, self.operator)
        return f"{self.descriptor}{operator}{quoted(target) if self.names_file else target}"


@dataclass(frozen=True, slots=True)
class Notes:
    """What the epilogue wrote down."""

    exit_code: int
    seconds: int
    positional: tuple[str, ...]
    redirects: tuple[str, ...]
    exit_trap: str
    """Empty for none."""


def redirects_in(script: str) -> list[Redirect]:
    """The redirections that `exec` makes in `script`, as far as they are written out in it."""
    if "exec" not in script:
        return []
    return [
        Redirect(*parts.groups())
        for found in _EXEC.finditer(script)
        for one in _ONE.finditer(found[1])
        if (parts := _PARTS.fullmatch(one[0].strip()))
    ]


def epilogue(redirects: list[Redirect]) -> str:
    """The script that follows a script of a shell that goes on."""
    targets = "".join(f" {one.target}" for one in redirects)
    return (
        f'\n\n{{ builtin printf \'%s\\0\' {_MARK} "$?" "$SECONDS" "$PWD" "$#" "$@"{targets};'
        f" builtin trap -p EXIT; builtin trap - EXIT; }} >{NOTES} 2>/dev/null"
    )


def read_notes(data: bytes, redirects: list[Redirect]) -> Notes:
    """What the epilogue of `redirects` wrote."""
    text = data.decode("utf-8", "surrogateescape").rpartition(_MARK + "\0")[2]
    exit_code, seconds, folder, count, rest = text.split("\0", 4)
    fields = rest.split("\0")
    positional, fields = fields[: int(count)], fields[int(count) :]
    targets, tail = fields[: len(redirects)], fields[-1]
    trap = re.search(r"(?s)^trap -- '(.*)' EXIT$", tail, re.MULTILINE)
    return Notes(
        exit_code=int(exit_code),
        seconds=int(seconds),
        positional=tuple(positional),
        redirects=tuple(
            one.again(target, folder) for one, target in zip(redirects, targets, strict=False)
        ),
        exit_trap=trap[1].replace("'\\''", "'") if trap else "",
    )


def descriptors(redirects: tuple[str, ...]) -> set[str]:
    """The descriptors beside the standard ones that `redirects` open."""
    return {
        found[1] for one in redirects if (found := re.match(r"(\d+)", one)) and int(found[1]) > 2
    }


def merged(before: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """All redirections in force; one that a later one replaces and none refers to is left out."""
    everything = [*before, *new]
    kept: list[str] = []
    for index, one in enumerate(everything):
        number = _descriptor(one)
        later = everything[index + 1 :]
        replaced = any(_descriptor(other) == number for other in later)
        referred = any(re.search(rf"&{number}-?$", other) for other in later)
        closed = one.endswith("&-") and int(number) > 2
        if not (replaced or closed) or (replaced and referred):
            kept.append(one)
    return tuple(kept)


def _descriptor(redirect: str) -> str:
    number = re.match(r"\d+", redirect)
    return number[0] if number else ("0" if redirect.startswith("<") else "1")
