"""Sessions of many commands in any order, without what the test templates put together.

A model that only sees templates learns their order by heart. Here commands of several kinds are drawn one
after another; `APART` keeps those kinds out of one session whose combination is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from experiments.pocket.script import Script

APART: Final[tuple[frozenset[str], ...]] = (
    frozenset(("cp", "append")),
    frozenset(("cp", "overwrite")),
    frozenset(("mv", "ls")),
    frozenset(("append", "ends")),
    frozenset(("append", "grep")),
    frozenset(("rm", "status")),
)
"""Kinds of commands that are in no session together."""

ONCE: Final[frozenset[str]] = frozenset(("mv",))
"""Kinds of commands of which a session has one at most."""


@dataclass(slots=True)
class _Session:
    """What is there while a session is written."""

    script: Script
    files: list[str] = field(default_factory=list[str])
    gone: list[str] = field(default_factory=list[str])
    variables: list[str] = field(default_factory=list[str])

    def any(self) -> str:
        """A file; now and then one that is gone."""
        pool = self.gone if self.gone and self.script.chance(0.3) else self.files
        return self.script.random.choice(pool)

    def new(self) -> str:
        name = self.script.name()
        self.files.append(name)
        return name

    def leaves(self) -> str:
        """A file that is gone from now on."""
        name = self.script.random.choice(self.files)
        self.files.remove(name)
        self.gone.append(name)
        return name


def _make(s: _Session) -> str:
    return f"echo {s.script.words(1, 3)} > {s.new()}"


def _append(s: _Session) -> str:
    return f"echo {s.script.words(1, 2)} >> {s.script.random.choice(s.files)}"


def _overwrite(s: _Session) -> str:
    return f"echo {s.script.words(1, 2)} > {s.script.random.choice(s.files)}"


def _copy(s: _Session) -> str:
    return f"cp {s.script.random.choice(s.files)} {s.new()}"


def _move(s: _Session) -> str:
    return f"mv {s.leaves()} {s.new()}"


def _remove(s: _Session) -> str:
    return f"rm {s.leaves()}" if len(s.files) > 1 else f"cat {s.any()}"


def _ends(s: _Session) -> str:
    return (
        f"{s.script.random.choice(('head', 'tail'))} -n {s.script.random.randint(1, 2)} {s.any()}"
    )


def _grep(s: _Session) -> str:
    texts = [text.split() for name, text in s.script.files.items() if name in s.files]
    words = [s.script.word(), *(word for text in texts for word in text)]
    return f"grep {s.script.random.choice(words)} {s.any()}"


def _test(s: _Session) -> str:
    return f"test -f {s.any()} && echo {s.script.word()} || echo {s.script.word()}"


def _variable(s: _Session) -> str:
    if s.variables and s.script.chance(0.6):
        return f"echo {s.script.word()} ${s.script.random.choice(s.variables)}"
    s.variables.append(s.script.variable())
    return f"{s.variables[-1]}={s.script.word()}"


_KINDS: Final[Mapping[str, Callable[[_Session], str]]] = {
    "make": _make,
    "append": _append,
    "overwrite": _overwrite,
    "cp": _copy,
    "mv": _move,
    "rm": _remove,
    "cat": lambda s: f"cat {s.any()}",
    "two": lambda s: f"cat {s.any()} {s.any()}",
    "ends": _ends,
    "grep": _grep,
    "sort": lambda s: f"sort {s.any()}",
    "count": lambda s: f"wc -l {s.any()}",
    "ls": lambda s: "ls",
    "status": lambda s: "echo $?",
    "test": _test,
    "variable": _variable,
    "folder": lambda s: f"mkdir {s.script.folder()}",
    "echo": lambda s: f"echo {s.script.words(2, 5)}",
}

KINDS: Final = tuple(_KINDS)


def kinds_of(script: Script) -> list[str]:
    """Some kinds of commands that may be in one session."""
    kinds: list[str] = []
    for kind in script.random.sample(KINDS, len(KINDS)):
        if len(kinds) < 4 and not any(pair <= {kind, *kinds} for pair in APART):
            kinds.append(kind)
    return kinds


def mixed(script: Script) -> None:
    """Three to six commands of some kinds, mostly with a look at a file after each change."""
    session = _Session(script)
    for _ in range(script.random.randint(1, 3)):
        session.files.append(script.given(script.random.choice((0, 0, 2, 3))))
    kinds = kinds_of(script)
    for _ in range(script.random.randint(3, 6)):
        kind = script.random.choice((*kinds, "cat", "cat"))
        if kind in ONCE:
            kinds.remove(kind)
        script.run(_KINDS[kind](session))
