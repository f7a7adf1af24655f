"""The comparison itself: what counts as equal, what is normalised, what is reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from .adapters import RawBashkit
from .compare import TopicResult, compare_session, report
from .model import (
    SESSIONS,
    CommandOutcome,
    FileState,
    RecordedCommand,
    RecordedSession,
    ScriptCommand,
    SessionOutcome,
    corpus_text,
    parse_corpus,
    read_corpus,
    read_scripts,
    topics,
)
from .normalise import NORMALISATIONS, normalise


def _session(*commands: RecordedCommand, **options: dict[str, str]) -> RecordedSession:
    return RecordedSession.model_validate(
        {"name": "story", "title": "A story", "commands": commands, **options}
    )


def _answers(*stdouts: str, files: dict[str, FileState] | None = None) -> SessionOutcome:
    return SessionOutcome([CommandOutcome(text, "", 0) for text in stdouts], files or {})


def test_a_session_equals_its_own_recording() -> None:
    state = FileState.of_file(b"hi\n", 0o644)
    session = _session(RecordedCommand(run="echo hi > f", changes={"/srv/app/f": state}))

    result = compare_session(session, session.outcome)

    assert result.equal
    assert list(result.differences()) == []


def test_a_difference_names_the_command_and_shows_expected_and_actual_lines() -> None:
    session = _session(RecordedCommand(run="seq 2", stdout="1\n2\n"))

    result = compare_session(session, SessionOutcome([CommandOutcome("1\n3\n", "", 1)]))

    assert list(result.differences()) == [
        "- story #1: seq 2",
        "  stdout:",
        "    @@ -1,2 +1,2 @@",
        "     1",
        "    -2",
        "    +3",
        "  exit_code: expected 0, 1",
    ]


def test_a_missing_last_newline_is_shown() -> None:
    session = _session(RecordedCommand(run="echo", stdout="a\n"))

    result = compare_session(session, _answers("a"))

    assert list(result.differences())[2:] == ["    -'a\\n'", "    +'a'"]


@pytest.mark.parametrize(("volatile", "equal"), [((), False), (("time",), True)])
def test_a_normalisation_applies_only_where_it_is_declared(
    volatile: tuple[str, ...], equal: bool
) -> None:
    line = "-rw-r--r-- 1 root root 4 {} f\n"
    recorded = RecordedCommand(run="ls -l f", volatile=volatile, stdout=line.format("Mar  1 12:00"))

    result = compare_session(_session(recorded), _answers(line.format("May  2  2023")))

    assert result.equal is equal


def test_an_implementation_must_answer_every_command() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare_session(_session(RecordedCommand(run="true")), SessionOutcome([]))


def test_missing_extra_and_changed_files_are_differences() -> None:
    kept, changed = FileState.of_file(b"a", 0o644), FileState.of_file(b"a", 0o755)
    recorded = RecordedCommand(run="true", stdout="", changes={"/tmp/a": kept, "/tmp/b": kept})

    result = compare_session(
        _session(recorded), _answers("", files={"/tmp/b": changed, "/tmp/c": kept})
    )

    assert list(result.differences()) == [
        "- story, file /tmp/a: is missing",
        "- story, file /tmp/b: mode '644' is '755'",
        "- story, file /tmp/c: should not exist",
    ]


@pytest.mark.parametrize(
    ("rule", "path", "equal"),
    [("content", "/tmp/x", True), ("content", "/tmp/y", False), ("existence", "/tmp/y", True)],
)
def test_volatile_files_are_compared_without_content_or_not_at_all(
    rule: str, path: str, equal: bool
) -> None:
    recorded = RecordedCommand(run="true", changes={"/tmp/x": FileState.of_file(b"1", 0o600)})
    session = _session(recorded, volatile_files={"/tmp/*": rule})

    result = compare_session(session, _answers("", files={path: FileState.of_file(b"2", 0o600)}))

    assert result.equal is equal


def test_the_final_tree_follows_from_the_recorded_changes() -> None:
    state = FileState.of_directory(0o755)
    session = _session(
        RecordedCommand(run="mkdir a b", changes={"/tmp/a": state, "/tmp/b": state}),
        RecordedCommand(run="rmdir a", changes={"/tmp/a": None}),
    )

    assert session.files == {"/tmp/b": state}


def test_the_written_corpus_reads_back_the_same() -> None:
    session = _session(
        RecordedCommand(
            run="cat <<E\nx\nE",
            stdout="1\n\n2\nno end",
            stderr="one\u2028line\n",
            exit_code=3,
            changes={"/tmp/a": FileState.of_symlink("b"), "/tmp/c": None},
        )
    )

    assert parse_corpus(corpus_text([session])) == (session,)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("time", "a Mar  1 12:00 b 2024-01-02 03:04:05.678 +0000", "a <time> b <time>"),
        ("time", "Fri Mar  1 12:00:00 UTC 2024", "<time>"),
        ("dir_size", "drwxr-xr-x 2 root root 4096 x", "drwxr-xr-x 2 root root <size> x"),
        ("dir_size", "-rw-r--r-- 1 root root    4 x", "-rw-r--r-- 1 root root 4 x"),
        ("total", "total 12\nx", "total <blocks>\nx"),
        ("blocks", "4.0K\t./x", "<blocks>\t./x"),
        ("inode", "123 -rw-r--r-- 1", "<inode> -rw-r--r-- 1"),
        ("pid", "[1] 4711", "[<pid>] <pid>"),
        ("random_name", "/tmp/tmp.aB3dE6gH9j", "/tmp/tmp.<random>"),
        ("duration", "real\t0m0.012s", "real\t<duration>"),
        ("order", "b\na\n", "a\nb\n"),
    ],
)
def test_a_normalisation_replaces_what_it_is_named_after(
    name: str, text: str, expected: str
) -> None:
    assert normalise(text, [name]) == expected


def test_an_unknown_normalisation_is_refused_with_the_known_names() -> None:
    with pytest.raises(ValueError, match=r"no normalisation 'colour'; there are time, dir_size"):
        normalise("", ["colour"])


def test_an_unknown_topic_is_refused_with_the_known_names() -> None:
    with pytest.raises(ValueError, match=r"no topic 'knitting'; there are .*\btext\b"):
        list(topics(["knitting"]))


def test_the_report_counts_by_topic_and_limits_the_sessions_shown() -> None:
    session = _session(RecordedCommand(run="a", stdout="1\n"), RecordedCommand(run="b"))
    results = [compare_session(session, _answers(text, "")) for text in ("1\n", "2\n", "2\n")]

    lines = list(report([TopicResult("tools", results)], limit=1))

    assert lines[2] == "| tools | 1/3 | 4/6 | 4 | 6 | 6 | 3/3 |"
    assert lines[3] == "| all | 1/3 | 4/6 | 4 | 6 | 6 | 3/3 |"
    assert lines[-1] == "\n1 more differing sessions; --limit 0 shows all"


@pytest.mark.parametrize("topic", list(topics()))
def test_the_corpus_holds_exactly_the_written_sessions(topic: str) -> None:
    written = {s.name: s.commands for s in read_scripts(SESSIONS / f"{topic}.yaml")}
    recorded = {
        s.name: tuple(ScriptCommand(run=c.run, volatile=c.volatile) for c in s.commands)
        for s in read_corpus(topic)
    }

    assert recorded == written
    assert {n for commands in written.values() for c in commands for n in c.volatile} <= set(
        NORMALISATIONS
    )


@pytest.mark.parametrize(
    ("commands", "stdouts"),
    [
        (["mkdir d", "cd d", "pwd"], ["", "", "/srv/app/d\n"]),
        (["x=1; echo hi > f", 'cat f; echo "[$x]"'], ["", "hi\n[]\n"]),
    ],
)
async def test_an_adapter_keeps_files_and_the_working_directory_and_nothing_else(
    commands: Sequence[str], stdouts: Sequence[str]
) -> None:
    outcome = await RawBashkit().run_session(commands)

    assert [answer.stdout for answer in outcome.outcomes] == stdouts
    assert len(outcome.files) == 1
