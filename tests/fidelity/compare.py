"""Compares an implementation with the recorded corpus.

    python -m tests.fidelity.compare                      the raw embedded shell, all topics
    python -m tests.fidelity.compare files text --limit 5
    python -m tests.fidelity.compare --session grep-hunt --limit 0

As a library: `compare_session` for one session, `compare_topic` for a topic, `report` for text.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .model import (
    CommandOutcome,
    FileState,
    Implementation,
    RecordedCommand,
    RecordedSession,
    SessionOutcome,
    read_corpus,
    topics,
)
from .normalise import normalise

DIFF_LINES = 12
"""At most this many lines of each difference are shown."""


@dataclass(frozen=True)
class CommandResult:
    """One command's expected and actual outcome, compared after its declared normalisations."""

    recorded: RecordedCommand
    actual: CommandOutcome

    @property
    def unequal(self) -> tuple[str, ...]:
        """Which of stdout, stderr and exit_code differ."""
        expected, volatile = self.recorded, self.recorded.volatile
        pairs = {
            "stdout": (
                normalise(expected.stdout, volatile),
                normalise(self.actual.stdout, volatile),
            ),
            "stderr": (
                normalise(expected.stderr, volatile),
                normalise(self.actual.stderr, volatile),
            ),
            "exit_code": (expected.exit_code, self.actual.exit_code),
        }
        return tuple(name for name, (left, right) in pairs.items() if left != right)

    @property
    def equal(self) -> bool:
        return not self.unequal

    def differences(self) -> Iterator[str]:
        for name in self.unequal:
            if name == "exit_code":
                yield f"  exit_code: expected {self.recorded.exit_code}, {self.actual.exit_code}"
                continue
            expected, actual = (
                normalise(text, self.recorded.volatile)
                for text in (
                    (self.recorded.stdout, self.actual.stdout)
                    if name == "stdout"
                    else (self.recorded.stderr, self.actual.stderr)
                )
            )
            yield f"  {name}:"
            yield from _diff(expected, actual)


@dataclass(frozen=True)
class SessionResult:
    """A session's results, and the paths whose final state differs."""

    recorded: RecordedSession
    commands: Sequence[CommandResult]
    files: Mapping[str, tuple[FileState | None, FileState | None]]

    @property
    def equal(self) -> bool:
        return not self.files and all(command.equal for command in self.commands)

    def differences(self) -> Iterator[str]:
        for number, command in enumerate(self.commands, 1):
            if not command.equal:
                shown = command.recorded.run.replace("\n", "\n    ")
                yield f"- {self.recorded.name} #{number}: {shown}"
                yield from command.differences()
        for path, (expected, actual) in self.files.items():
            yield f"- {self.recorded.name}, file {path}: {_file_difference(expected, actual)}"


@dataclass(frozen=True)
class TopicResult:
    """All results of one session file."""

    topic: str
    sessions: Sequence[SessionResult]

    @property
    def commands(self) -> list[CommandResult]:
        return [command for session in self.sessions for command in session.commands]


def compare_session(recorded: RecordedSession, actual: SessionOutcome) -> SessionResult:
    """Compares what an implementation answered with what is recorded.

    Raises:
        ValueError: the implementation did not answer every command.
    """
    pairs = zip(recorded.commands, actual.outcomes, strict=True)
    commands = [CommandResult(command, outcome) for command, outcome in pairs]
    expected, found = (
        dict(_comparable(tree, recorded.volatile_files)) for tree in (recorded.files, actual.files)
    )
    files = {
        path: (expected.get(path), found.get(path))
        for path in sorted(expected.keys() | found.keys())
        if expected.get(path) != found.get(path)
    }
    return SessionResult(recorded, commands, files)


async def compare_topic(
    topic: str, implementation: Implementation, *, only: Sequence[str] = ()
) -> TopicResult:
    """Runs the sessions of a topic one after another; `only` keeps the sessions named in it."""
    sessions: list[SessionResult] = []
    for recorded in read_corpus(topic):
        if only and recorded.name not in only:
            continue
        commands = [command.run for command in recorded.commands]
        sessions.append(compare_session(recorded, await implementation.run_session(commands)))
    return TopicResult(topic, sessions)


def report(results: Sequence[TopicResult], *, limit: int) -> Iterator[str]:
    """A table by topic, then the first `limit` differing sessions (0: all)."""
    head = ("topic", "sessions", "commands", "stdout", "stderr", "exit", "files")
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    every = TopicResult("all", [session for result in results for session in result.sessions])
    for result in (*results, every):
        yield "| " + " | ".join((result.topic, *_figures(result))) + " |"
    differing = [session for session in every.sessions if not session.equal]
    shown = differing[:limit] if limit else differing
    for session in shown:
        yield ""
        yield f"{session.recorded.name}: {session.recorded.title}"
        yield from session.differences()
    if len(shown) < len(differing):
        yield f"\n{len(differing) - len(shown)} more differing sessions; --limit 0 shows all"


def _figures(result: TopicResult) -> Iterator[str]:
    sessions, commands = result.sessions, result.commands
    yield f"{sum(session.equal for session in sessions)}/{len(sessions)}"
    yield f"{sum(command.equal for command in commands)}/{len(commands)}"
    for part in ("stdout", "stderr", "exit_code"):
        yield str(sum(part not in command.unequal for command in commands))
    yield f"{sum(not session.files for session in sessions)}/{len(sessions)}"


def _comparable(
    tree: Mapping[str, FileState], volatile: Mapping[str, str]
) -> Iterator[tuple[str, FileState]]:
    """The tree without what the session declares volatile: whole paths, or only content."""
    for path, state in tree.items():
        rules = {rule for pattern, rule in volatile.items() if fnmatchcase(path, pattern)}
        if "existence" not in rules:
            yield path, state.without_content() if "content" in rules else state


def _diff(expected: str, actual: str) -> Iterator[str]:
    lines = list(
        difflib.unified_diff(
            expected.splitlines(), actual.splitlines(), "expected", "actual", n=1, lineterm=""
        )
    )[2:]
    if not lines:
        lines = [f"-{expected[-40:]!r}", f"+{actual[-40:]!r}"]
    yield from (f"    {line}" for line in lines[:DIFF_LINES])
    if len(lines) > DIFF_LINES:
        yield f"    … {len(lines) - DIFF_LINES} more lines"


def _file_difference(expected: FileState | None, actual: FileState | None) -> str:
    if expected is None or actual is None:
        return "is missing" if actual is None else "should not exist"
    left, right = expected.model_dump(), actual.model_dump()
    parts = [f"{key} {left[key]!r} is {right[key]!r}" for key in left if left[key] != right[key]]
    return "; ".join(parts)[:400]


async def _compare(options: argparse.Namespace, implementation: Implementation) -> bool:
    results = [
        await compare_topic(topic, implementation, only=options.session)
        for topic in topics(options.topics)
    ]
    print(*report(results, limit=options.limit), sep="\n")
    return all(session.equal for result in results for session in result.sessions)


def main() -> int:
    # Here, not above: the comparison itself does not depend on any implementation.
    from .adapters import ADAPTERS

    parser = argparse.ArgumentParser(description="Compare a shell with the recorded corpus.")
    parser.add_argument("topics", nargs="*", help="topics to compare; all if none")
    parser.add_argument("--adapter", choices=sorted(ADAPTERS), default="raw")
    parser.add_argument("--session", action="append", default=[], help="only this session")
    parser.add_argument("--limit", type=int, default=10, help="differing sessions shown, 0: all")
    options = parser.parse_args()
    return 0 if asyncio.run(_compare(options, ADAPTERS[options.adapter]())) else 1


if __name__ == "__main__":
    sys.exit(main())
