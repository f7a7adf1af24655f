"""Writes `docs/reference/fidelity.md` from a comparison of the simulated machine.

python -m tests.fidelity.page           write the page
python -m tests.fidelity.page --check   say whether it is current
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from .compare import SessionResult, TopicResult, compare_topic, report
from .live import WorldShell
from .model import HERE, topics

PAGE = HERE.parents[1] / "docs" / "reference" / "fidelity.md"
REMAINING = HERE / "remaining.yaml"

FILES = "files"
"""Stands in a list of command numbers for the files that a session leaves."""

Place = tuple[str, int | str]
"""A session, and the number of a command in it or `FILES`."""

HOLD_OUT_FIRST = (203, 220)
"""Equal commands of the held-out sessions when they were first looked at, after all fixing."""

_HEAD = """# How true the shell is

The shell of a simulated machine is held to a real one: {sessions} sessions of {commands} commands, of the kind
that coding agents run, were recorded in the bash of a Debian 12 machine, and every answer of the simulated
machine is compared with the recording byte by byte: standard output, standard error, exit code, and the files
that each session leaves. This page is written by `python -m tests.fidelity.page`; a test holds it to the
comparison.

**{equal} of {commands} commands are equal ({share:.1%}).** Times, sizes of directories and process ids are left
out only where a command declares that it prints them.

{table}

`sessions` counts those in which everything is equal; the next columns count commands; `files` counts sessions
that leave equal files.

## Sessions kept aside

One session in seven, chosen by a hash of its name, was not looked at while the commands were written. When
all was done, {first} of their {held} commands were equal ({first_share:.1%}); after the causes seen there were
treated like all others, {now} are ({now_share:.1%}). The sessions worked with stand at {seen} of {seen_all}
({seen_share:.1%}).

## What is still different

By cause, with every command of the recordings that it touches. Nothing else in them differs.
"""


class Cause(BaseModel):
    """Why some commands differ."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cause: str
    why: str
    commands: Mapping[str, tuple[int | str, ...]]

    def places(self) -> Iterator[Place]:
        for session, numbers in self.commands.items():
            yield from ((session, number) for number in numbers)


def read_causes() -> tuple[Cause, ...]:
    return TypeAdapter(tuple[Cause, ...]).validate_python(yaml.safe_load(REMAINING.read_text()))


def held_out(session: str) -> bool:
    """Whether a session was kept aside. By its name alone, so that new sessions fall on both sides."""
    return hashlib.blake2b(session.encode()).digest()[0] % 7 == 0


async def compare_all() -> list[TopicResult]:
    return [await compare_topic(topic, WorldShell()) for topic in topics()]


def sessions_of(results: Iterable[TopicResult]) -> list[SessionResult]:
    return [session for result in results for session in result.sessions]


def different(results: Iterable[TopicResult]) -> set[Place]:
    """Every command that is not equal, and the sessions whose files are not."""
    places: set[Place] = set()
    for session in sessions_of(results):
        name = session.recorded.name
        places |= {(name, n) for n, c in enumerate(session.commands, 1) if not c.equal}
        if session.files:
            places.add((name, FILES))
    return places


def count(sessions: Sequence[SessionResult]) -> tuple[int, int]:
    """Equal commands, and all."""
    commands = [command for session in sessions for command in session.commands]
    return sum(command.equal for command in commands), len(commands)


def page(results: Sequence[TopicResult], causes: Sequence[Cause]) -> str:
    sessions = sessions_of(results)
    equal, commands = count(sessions)
    now, held = count([s for s in sessions if held_out(s.recorded.name)])
    seen, seen_all = count([s for s in sessions if not held_out(s.recorded.name)])
    first, first_all = HOLD_OUT_FIRST
    table = [line for line in report(results, limit=1) if line.startswith("|")]
    text = _HEAD.format(
        sessions=len(sessions),
        commands=commands,
        equal=equal,
        share=equal / commands,
        table="\n".join(table),
        first=first,
        first_share=first / first_all,
        held=held,
        now=now,
        now_share=now / held,
        seen=seen,
        seen_all=seen_all,
        seen_share=seen / seen_all,
    )
    return text + "".join(_cause(cause, sessions) for cause in causes)


def _cause(cause: Cause, sessions: Sequence[SessionResult]) -> str:
    recorded = {session.recorded.name: session.recorded for session in sessions}
    lines = [f"\n### {cause.cause}\n\n{cause.why.strip()}\n\n"]
    for session, number in cause.places():
        if isinstance(number, str):
            lines.append(f"- `{session}`: the files it leaves\n")
            continue
        run = recorded[session].commands[number - 1].run.replace("\n", "⏎")
        shown = run if len(run) <= 100 else run[:99] + "…"
        fence = "``" if "`" in shown else "`"
        space = " " if "`" in shown else ""
        lines.append(f"- `{session}` {number}: {fence}{space}{shown}{space}{fence}\n")
    return "".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the page on fidelity.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    text = page(asyncio.run(compare_all()), read_causes())
    if options.check:
        current = PAGE.read_text() == text
        print("current" if current else "not current: run python -m tests.fidelity.page")
        return 0 if current else 1
    Path(PAGE).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
