"""Calls of real tools as a source of truth: their answers are known, and what they changed is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentworld_sim.bench.cassette_source import read_cassettes
from agentworld_sim.bench.labels import labels_of
from agentworld_sim.bench.run import figures_of, run
from agentworld_sim.bench.scores import score
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.cassette import Cassette, Recorder
from agentworld_sim.cli import cli
from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm.scripted import ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

COMMAND = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
NOW = '{"time": "2026-02-01T10:11:12Z", "zone": "UTC"}'


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    """Two commands of a real shell, and a clock."""
    path = tmp_path / "shell.yaml"
    tools = [ToolSpec(name="bash", domain="terminal", input_schema=COMMAND), ToolSpec(name="now")]
    recorder = Recorder(path, tools=tools, volatile=("now.time",))
    for call, text in (
        (ToolCall("bash", {"command": "ls"}), "a.txt\nb.txt\n"),
        (ToolCall("bash", {"command": "cat c"}), "cat: c: No such file or directory\n"),
        (ToolCall("now"), NOW),
    ):
        recorder.add(call, Observation(text=text, provenance="real"))
    return path


def test_answers_alone_are_scored(cassette: Path) -> None:
    listed, missing, now = read_cassettes([cassette]).transitions()
    found = score(listed, "a.txt\nb.txt", False, {"files": {"x": {}}})
    assert (found.right, found.state_known, found.silent) == (True, False, False)
    assert not score(missing, "", False, {}).right
    assert "state not known" in labels_of(listed)
    # What the recording calls volatile may be another of its form.
    assert score(now, NOW.replace("10:11", "23:59"), False, {}).right
    assert not score(now, NOW.replace("10:11:12Z", "soon"), False, {}).right
    assert not score(now, NOW.replace("UTC", "CET"), False, {}).right


async def test_a_real_shell_is_asked_in_its_own_form(cassette: Path, tmp_path: Path) -> None:
    transitions = list(read_cassettes([cassette]).transitions())
    answers = iter([one.truth.observation.text for one in transitions])
    with ScriptedModelServer(
        lambda request: f"<predicted_observation>\n{next(answers)}\n</predicted_observation>"
    ) as served:
        model = WorldModel(ModelSettings(url=served.url, thinking=False))
        rows = await run(transitions, model.imaginer(), tmp_path / "run.jsonl", settings={})
        assert "operations" not in str(served.requests[0].messages[-1])
    figures = figures_of(rows)
    assert (figures["right"].share, figures["right"].count) == (100.0, 3)
    assert figures["state"].count == 0


def test_a_tool_that_is_not_listed_is_known_by_its_name(tmp_path: Path, cassette: Path) -> None:
    loaded = Cassette.load(cassette)
    bare = Cassette(entries=loaded.entries)
    path = tmp_path / "bare.yaml"
    path.write_text(bare.text())
    assert {tool.name for tool in read_cassettes([path]).sessions[0].tools} == {"bash", "now"}


def test_a_cassette_without_real_calls_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "imagined.yaml"
    path.write_text(Cassette(model=True).text())
    with pytest.raises(UsageError, match=r"has no calls of real tools\. .*--record"):
        read_cassettes([path])


def command(*arguments: Any) -> Result:
    return CliRunner().invoke(cli, ["bench", "make", *map(str, arguments)])


def test_the_command_writes_them(cassette: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = command("recorded", cassette, "--output", output)
    assert done.exit_code == 0, done.output
    assert "3 transitions" in done.output
    assert "answers alone will be scored" in done.output
    assert TransitionSet.load([output]) == read_cassettes([cassette])


def test_what_does_not_go_together_is_refused(cassette: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    for arguments, said in (
        (("recorded",), "takes the cassettes"),
        (("computed", cassette), "takes the cassettes"),
        (("computed", "--environment", tmp_path), "leave out --environment"),
        (("bfcl",), "--environment DIR"),
        (("computd",), "Did you mean 'computed'"),
    ):
        done = command(*arguments, "--output", output)
        assert done.exit_code != 0
        assert said in done.output
    assert not output.exists()
