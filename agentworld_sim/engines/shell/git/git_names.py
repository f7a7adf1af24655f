"""The names of git's commands: an alias for one, and which is meant by a name that is none."""

from __future__ import annotations

import shlex
from functools import cache
from itertools import groupby

from agentworld_sim.engines.shell.git.git_failure import GitFailure, fatal, not_computed
from agentworld_sim.engines.shell.git.git_run import GitRun
from agentworld_sim.engines.shell.programs import DATA

_LINES = (DATA / "git_commands.txt").read_text("utf-8").splitlines()
_COMMON = frozenset(_LINES[1].split())
NAMES = _COMMON.union(_LINES[2].split())
"""All commands of git, also those that are not computed."""

_SIMILAR = 7


def command_line(run: GitRun, words: list[str]) -> list[str]:
    """The words of a subcommand, an alias replaced by what it stands for.

    Raises:
        GitFailure: git has no such command.
        NotComputed: the alias is a command of the shell.
    """
    seen: list[str] = []
    while words[0] not in NAMES:
        if not (value := run.setting(f"alias.{words[0].lower()}")):
            raise GitFailure(_no_command(words[0], run), 1)
        if value.startswith(("!", "-")) or not value.strip():
            raise not_computed(f"{words[0]}, which is an alias for {value}")
        if words[0] in seen:
            marks = {words[0]: " <==", seen[-1]: " ==>"}
            way = "".join(f"\n  {one}{marks.get(one, '')}" for one in seen)
            raise fatal(f"alias loop detected: expansion of '{seen[0]}' does not terminate:{way}")
        seen.append(words[0])
        words = [*shlex.split(value), *words[1:]]
        if words[0] == seen[-1]:
            raise fatal(f"recursive alias: {words[0]}")
    return words


def _no_command(name: str, run: GitRun) -> str:
    said = f"git: '{name}' is not a git command. See 'git --help'.\n"
    aliases = {key[6:] for key, _ in run.settings if key.startswith("alias.")}
    ranked = sorted((_rank(name, one), one) for one in NAMES | aliases)
    begin = [one for rank, one in ranked if not rank]
    best, group = next(groupby(ranked[len(begin) :], key=lambda pair: pair[0]))
    if best >= _SIMILAR:
        return said
    found = [*begin, *(one for _, one in group)]
    which = "command is" if len(found) == 1 else "commands are"
    return f"{said}\nThe most similar {which}\n" + "".join(f"\t{one}\n" for one in found)


def _rank(name: str, command: str) -> int:
    """How far a name is from a command that may be meant; 0 if it begins one that is often used."""
    if command in _COMMON and command.startswith(name):
        return 0

    @cache
    def cost(i: int, j: int) -> int:
        """From the first `i` letters of the name to the first `j` of the command."""
        if not i or not j:
            return 3 * i + j
        same = name[i - 1] == command[j - 1]
        ways = [cost(i - 1, j - 1) + 2 * (not same), cost(i, j - 1) + 1, cost(i - 1, j) + 3]
        if i > 1 and j > 1 and name[i - 2 : i] == command[j - 2 : j][::-1]:
            ways.append(cost(i - 2, j - 2))
        return min(ways)

    return cost(len(name), len(command)) + 1
