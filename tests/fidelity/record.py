"""Records the session files in the real bash of this machine.

    python -m tests.fidelity.record            write corpus/*.json
    python -m tests.fidelity.record --check    record again and compare with what is committed
    python -m tests.fidelity.record files text only these topics

Record on Debian 12: the corpus is what that system prints.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from . import jail
from .compare import compare_session
from .model import (
    CORPUS,
    ENVIRONMENT,
    HERE,
    SESSIONS,
    RecordedCommand,
    RecordedSession,
    Script,
    corpus_text,
    read_corpus,
    read_scripts,
    topics,
)
from .normalise import normalise


def record(script: Script, namespace: Sequence[str]) -> RecordedSession:
    """Runs one session twice, and takes it only if what is not declared volatile repeats.

    Raises:
        ValueError: the session is not deterministic, or names an unknown normalisation.
    """
    for command in script.commands:
        normalise("", command.volatile)
    first, second = (_run(script, namespace) for _ in range(2))
    result = compare_session(first, second.outcome)
    if not result.equal:
        raise ValueError(f"{script.name}: two runs differ\n" + "\n".join(result.differences()))
    for command in first.commands:
        if missing := _undeclared(command):
            raise ValueError(f"{script.name}: {command.run!r} should declare {missing!r} volatile")
    return first


def _undeclared(command: RecordedCommand) -> str | None:
    """What depends on this machine, and would repeat in two runs one after the other."""
    now, text = datetime.now(UTC), command.stdout + command.stderr
    needed = {
        "time": any(now.strftime(form) in text for form in ("%b %e %H:", "%Y-%m-%d", "%b %e %Y")),
        "total": re.search(r"^total \d", text, re.MULTILINE) is not None,
        "dir_size": re.search(r"^d[rwx-]{8}[xt-] ", text, re.MULTILINE) is not None,
    }
    return next(
        (n for n, is_there in needed.items() if is_there and n not in command.volatile), None
    )


def _run(script: Script, namespace: Sequence[str]) -> RecordedSession:
    done = subprocess.run(
        [*namespace, sys.executable, "-m", "tests.fidelity.record", "--inside"],
        input=script.model_dump_json(),
        capture_output=True,
        text=True,
        cwd=HERE.parents[1],
        env=dict(ENVIRONMENT),
        check=False,
    )
    if done.returncode:
        raise ValueError(f"{script.name}: {done.stderr.strip()}")
    return RecordedSession.model_validate_json(done.stdout)


def _inside() -> None:
    script = Script.model_validate_json(sys.stdin.read())
    jail.prepare()
    results = jail.run_session([command.run for command in script.commands])
    session = RecordedSession(
        name=script.name,
        title=script.title,
        volatile_files=script.volatile_files,
        commands=tuple(
            RecordedCommand(
                run=command.run,
                volatile=command.volatile,
                stdout=outcome.stdout,
                stderr=outcome.stderr,
                exit_code=outcome.exit_code,
                changes=changes,
            )
            for command, (outcome, changes) in zip(script.commands, results, strict=True)
        ),
    )
    print(session.model_dump_json())


def _check(topic: str, sessions: Sequence[RecordedSession]) -> int:
    """Says where a new recording differs from the committed one; counts the sessions."""
    committed = {session.name: session for session in read_corpus(topic)}
    failed = 0
    for session in sessions:
        expected = committed.get(session.name)
        if expected is None or [c.run for c in expected.commands] != [
            c.run for c in session.commands
        ]:
            print(f"{topic}/{session.name}: not recorded yet")
            failed += 1
        elif not (result := compare_session(expected, session.outcome)).equal:
            print(f"{topic}/{session.name}:", *result.differences(), sep="\n")
            failed += 1
    return failed


def _is_debian_12() -> bool:
    release = Path("/etc/os-release")
    return release.exists() and 'PRETTY_NAME="Debian GNU/Linux 12 ' in release.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description="Record the fidelity sessions in the real bash.")
    parser.add_argument("topics", nargs="*", help="session files without .yaml; all if none")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        _inside()
        return 0
    if not _is_debian_12():
        print("record on Debian 12: the corpus is what that system prints", file=sys.stderr)
        return 2
    try:
        namespace = jail.namespace_command()
    except jail.NoNamespaces as error:
        print(error, file=sys.stderr)
        return 2
    failed = 0
    for topic in topics(options.topics):
        scripts = read_scripts(SESSIONS / f"{topic}.yaml")
        sessions = [record(script, namespace) for script in scripts]
        if options.check:
            failed += _check(topic, sessions)
        else:
            (CORPUS / f"{topic}.json").write_text(corpus_text(sessions))
        print(f"{topic}: {len(sessions)} sessions, {sum(len(s.commands) for s in sessions)} calls")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
