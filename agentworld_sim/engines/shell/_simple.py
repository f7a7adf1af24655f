"""Scripts that need none of the care the others get.

Most of what agents run looks and changes nothing: `ls`, `cat file`, `grep -n x y`. Such a script cannot
run away, writes no file, sleeps for no time and leaves the shell as it was, so it is run where the caller
stands, in an interpreter that is still as fresh as the one before left it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bashkit import Bash, BashError

SIMPLE_COMMANDS = frozenset("basename cat dirname echo false grep head ls pwd tail true wc".split())

ALONE = frozenset({"ls"})
"""Those of them that are commands of ours, and need no more of a shell than its directory."""

LONGEST = 2_000
"""Characters."""

_PLAIN_TEXT = re.compile(r"[\w ./,:=@%+'\"|;\n*?\[\]~^-]+")
_PLAIN_WORDS = re.compile(r"[a-z]+(?: +[\w./,:=@%+-]+)* *", re.ASCII)
_SPECIAL = re.compile(r"\s-(?:-follow|-version|-help|[a-zA-Z]*[fF])")
"""`tail -f` and whatever looks like it; options that every tool answers about itself."""


@lru_cache(maxsize=1)
def _parser() -> Bash:
    return Bash()


@lru_cache(maxsize=4096)
def is_simple(script: str) -> bool:
    """Whether `script` is nothing but commands that look, with literal arguments and no redirection."""
    if len(script) > LONGEST or not _PLAIN_TEXT.fullmatch(script) or _SPECIAL.search(script):
        return False
    if "/dev/" in script or "/proc/" in script:
        return False
    try:
        found = _parser().analyze(script)
    except BashError:
        return False
    return (
        not (
            found.is_opaque or found.functions or found.redirects or found.has_command_substitution
        )
        and not found.has_interpreter_reentry
        and bool(found.commands)
        and all(
            command.name in SIMPLE_COMMANDS and not command.assignments
            for command in found.commands
        )
    )


@lru_cache(maxsize=4096)
def words_alone(script: str) -> tuple[str, ...]:
    """The words of a simple script that is one command of `ALONE`, written so that a shell would change
    nothing in it; empty for any other."""
    words = tuple(script.split(" "))
    if words[0] not in ALONE or not _PLAIN_WORDS.fullmatch(script):
        return ()
    return tuple(word for word in words if word)
