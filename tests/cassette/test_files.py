"""The file of a cassette: readable, exact, stable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from agentworld_sim.cassette import CassetteSession, is_cassette, trim
from agentworld_sim.cassette._recorded_answers import Entry, Key, in_order
from agentworld_sim.cassette._yaml import dump, loader
from agentworld_sim.cassette.file import Cassette
from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted import ModelRequest, Reply, ScriptedReply
from agentworld_sim.whole_file import write_file
from tests.cassette.lab import Studio, command, numbered
from tests.properties import examples

ODD = list(" \t\n\r\"'#:-{}[],&*!|>%@`?ab\0\x1b\x7f\x85\u2028\ufeff\ufffe\ud800\udfff😀é")

texts = (
    st.text(st.characters(codec=None))
    | st.text(st.sampled_from(ODD))
    | st.lists(st.text(st.sampled_from("ab \t")), min_size=2).map("\n".join)
    | st.builds(
        json.dumps,
        st.dictionaries(st.text(), st.integers() | st.text() | st.floats(allow_nan=False)),
        separators=st.sampled_from([(",", ":"), (", ", ": ")]),
        indent=st.none() | st.just(2),
        ensure_ascii=st.booleans(),
    )
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    document = dump({"value": value})
    assert _exact(yaml.load(document, loader())) == _exact({"value": value})


@settings(max_examples=examples(40))
@given(values)
def test_what_is_written_is_read_back_without_the_fast_parser(value: Any) -> None:
    document = dump({"value": value})
    slow: Any = type(
        "Slow",
        (yaml.SafeLoader,),
        {
            "yaml_implicit_resolvers": loader().yaml_implicit_resolvers,
            "yaml_constructors": loader().yaml_constructors,
        },
    )
    assert _exact(yaml.load(document, slow)) == _exact({"value": value})


def _exact(value: Any) -> str:
    """JSON tells 1 and 1.0 and the order of keys apart."""
    return json.dumps(value)


@pytest.mark.parametrize(
    "text",
    ["x" * 3_000_000, "line\n" * 100_000, "a \n" * 50_000, "\ud800" * 10_000, "[" * 5_000],
    ids=["one line", "many lines", "trailing spaces", "no UTF-8", "brackets"],
)
def test_huge_texts_are_read_back(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    entry = Entry(Key("tool", "t", {}), {"text": text})
    write_file(path, Cassette(model=True, entries=(entry,)).text())
    found = Cassette.load(path)
    assert found.entries[0].answer["text"] == text


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(texts, st.dictionaries(texts, texts, max_size=2), texts), max_size=2))
def test_whole_files_are_read_back(calls: list[tuple[str, dict[str, str], str]]) -> None:
    from tempfile import TemporaryDirectory

    entries = tuple(
        Entry(Key("tool", name, about, number), {"text": text})
        for number, (name, about, text) in enumerate(calls)
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        write_file(path, Cassette(model=True, entries=entries).text())
        found = Cassette.load(path)
    # Two halves of a pair side by side are one character to JSON.
    assert [(_exact(json.loads(one.key.text)), _exact(one.answer)) for one in found.entries] == [
        (_exact(json.loads(one.key.text)), _exact(one.answer)) for one in entries
    ]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_a_text_that_is_json_with_odd_names_is_read_back(separators: tuple[str, str]) -> None:
    value: dict[str, Any] = {
        "\x1b" * 60: 1,
        "b" * 300: {"\n": []},
        "deep": [[[[[[[[[[[[[[0]]]]]]]]]]]]]],
    }
    text = json.dumps(value, separators=separators, ensure_ascii=False)
    assert yaml.load(dump([text]), loader()) == [text]


GOLDEN = """\
# Written by agentworld-sim: what could not be computed, answered by a language world model (`tool`,
# `command`) or by a real tool (`real`). Everything else is computed again each time. To record it anew,
# delete this file, or run its test with --sim-mode=live. May be edited by hand.
agentworld_cassette: 2
model: true
answers:
- tool: weather
  arguments:
    city: Bern
  state: {files: xtzktwsoqpmk}
  answer:
    text: !compact
      city: Bern
      days:
      - day: Monday
        degrees: 21
      - day: Tuesday
        degrees: 19.5
      note: The rest of the week is uncertain.
- command: [hg, commit, -m, first try!]
  cwd: /srv/app
  stdin: "y\\n"
  state: {files: xtzktwsoqpmk, env: lvmplrmpmnym}
  answer:
    stdout: |
      [main 1a2b3c4] first try!
       1 file changed
    operations:
    - kind: write
      path: .hg/HEAD
      content: "ref: refs/heads/main\\n"
computed:
- Bash wnunmmlm uxyomvzz
"""


def _golden(request: ModelRequest) -> Reply:
    if "argv:" in request.last_user:
        wrote = {"kind": "write", "path": ".hg/HEAD", "content": "ref: refs/heads/main\n"}
        return command("[main 1a2b3c4] first try!\n 1 file changed\n", wrote)
    days = [{"day": "Monday", "degrees": 21}, {"day": "Tuesday", "degrees": 19.5}]
    said = {"city": "Bern", "days": days, "note": "The rest of the week is uncertain."}
    return ScriptedReply.observation(json.dumps(said, separators=(",", ":")))


async def test_a_cassette_can_be_read_by_people(studio: Studio) -> None:
    async with studio.open("once", _golden) as one:
        await one.ask()
        await one.bash("ls")
        await one.bash("echo y | hg commit -m 'first try!'")
        await one.end()
    assert studio.text == GOLDEN


async def test_recording_again_changes_what_has_changed_and_nothing_else(studio: Studio) -> None:
    scripts = ["one", "two", "three"]
    await studio.record(*scripts, answering=_steady)
    before = studio.text.splitlines()
    async with studio.open("live", _steady) as one:
        await one.ask()
        for script in ("one", "new", "two", "three"):
            await one.bash(script)
        await one.end()
    after = studio.text.splitlines()
    start = after.index("- command: [new]")
    assert after[start - 3 :: -1][::-1] == before[: start - 2]
    added = [line for line in after if line not in before]
    assert added == ["- command: [new]"]


def _steady(request: ModelRequest) -> Reply:
    return command("ok\n") if "argv:" in request.last_user else ScriptedReply.observation("ok")


def test_what_is_new_stands_behind_what_came_before_it() -> None:
    def entry(name: str, *place: int) -> Entry:
        return Entry(Key("tool", name, {}), {}, place=(place[0], 0) if place else (0, 0))

    known = [entry(name) for name in "cab"]
    new = [entry("x", 0), entry("a", 1), entry("y", 2), entry("z", 3), entry("c", 4)]
    assert [one.key.name for one in in_order(known, new, known[2:])] == [*"xcayzb"]


def test_a_file_may_be_edited_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "model: yes\nagentworld_cassette: 2\nanswers:\n"
        "  - {tool: t, answer: {text: it is 2026-01-01}, arguments: {when: 2026-01-01, on: no}}\n"
    )
    with pytest.raises(UsageError, match=r"`model` is true or false \(line 1\)"):
        Cassette.load(path)
    path.write_text(path.read_text().replace("yes", "true"))
    found = Cassette.load(path)
    assert found.entries[0].key.about == {"when": "2026-01-01", "on": "no"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"it is no mapping \(line 1\)"),
        ("a: [", r"it is no YAML: .* \(line \d\)"),
        (
            "agentworld_cassette: 2\nmodel: true\n<<<<<<< HEAD\nanswers: []\n",
            r"it is no YAML.*line [34]",
        ),
        ("- 1", "it is no mapping"),
        ("model: true", r"it has no key `agentworld_cassette` \(line 1\)"),
        ("interactions: []\nversion: 1\n", r"If another recorder wrote it.*`sim_cassettes`"),
        (
            "# c\nagentworld_cassette: 7\nmodel: true",
            r"has format 7 \(line 2\), and this version reads 2",
        ),
        ("agentworld_cassette: 2\nmodel: true\nmore: 1", r"there is no key 'more' \(line 3\)"),
        ("agentworld_cassette: 2\nmodel: true\nanswers: 1", r"`answers` is a list \(line 3\)"),
        (
            "agentworld_cassette: 2\nmodel: true\nanswers:\n- tool: t\n  answer: {text: x}\n- tool: t\n",
            r"`answer` is missing, or is no mapping \(line 6\)",
        ),
        (
            "agentworld_cassette: 2\nmodel: true\nanswers:\n- tool: t\n  answer: {text: 3}\n",
            r"`text` in the answer cannot be a int \(line 4\)",
        ),
        (
            "agentworld_cassette: 2\nmodel: true\nanswers:\n- command: ls\n  answer: {}\n",
            r"`command` is a list of words \(line 4\)",
        ),
        (
            "agentworld_cassette: 2\nmodel: true\nanswers: []\ncomputed:\n- a b c\n- nonsense\n",
            r"a computed answer is a tool's name and two digests.* \(line 6\)",
        ),
        ("agentworld_cassette: 2\nmodel: !json '{'\n", "it is no YAML"),
        # Those of earlier versions.
        ("# c\nagentworld_tape: 1\nmodel: true\n", "delete it and record it again"),
        ('{"agentworld_cassette":1,"tools":[]}\n{"call":1}\n', "delete it and record it again"),
        (
            "agentworld_cassette: 2\nmodel: !!python/name:os.system x\n",
            r"it is no YAML.*\(line 2\)",
        ),
    ],
)
def test_what_is_no_cassette_is_one_clear_error(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as error:
        CassetteSession(path, "replay")
    assert str(path) in str(error.value)


def test_bytes_that_are_no_text_are_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(b"agentworld_cassette: 2\n\xff\xfe")
    with pytest.raises(UsageError, match=r"it is not UTF-8 \(line 2\)"):
        CassetteSession(path, "replay")
    with pytest.raises(UsageError, match="cannot be read"):
        CassetteSession(tmp_path, "replay")


async def test_a_folder_that_cannot_be_written_is_one_clear_error(studio: Studio) -> None:
    studio.path.parent.parent.mkdir(exist_ok=True)
    studio.path.parent.write_text("a file, not a folder")
    async with studio.open("off", numbered):
        pass
    with pytest.raises(UsageError, match="cannot be"):
        await studio.record()


async def test_nothing_but_the_file_is_left_behind(studio: Studio) -> None:
    await studio.record()
    assert [path.name for path in studio.path.parent.iterdir()] == [studio.path.name]


async def test_answers_that_are_not_used_are_taken_out(studio: Studio) -> None:
    await studio.record("one", "two")
    async with studio.open("replay") as one:
        await one.ask()
        unused = (await one.end()).unused
    assert trim(studio.path, unused) == 2
    found = Cassette.load(studio.path)
    assert [one.key.name for one in found.entries] == ["weather"]
    assert trim(studio.path.with_name("none.yaml"), unused) == 0


def test_other_peoples_files_are_told_apart(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.yaml", tmp_path / "ours.yaml"
    theirs.write_text("interactions: []\nversion: 1\n")
    write_file(ours, Cassette(model=False).text())
    assert (is_cassette(theirs), is_cassette(ours), is_cassette(tmp_path / "none")) == (
        False,
        True,
        False,
    )
