"""The page on serving: its commands are accepted."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from agentworld_sim.cli import main
from agentworld_sim.serving import ServerOptions
from agentworld_sim.serving._command import build_command
from agentworld_sim.serving._machine import Weights
from agentworld_sim.serving.options import DEFAULT_MODEL, REQUIREMENTS

PAGE = Path(__file__).resolve().parents[2].joinpath("docs", "guides", "serving.md")
TEXT = PAGE.read_text(encoding="utf-8")

FENCES = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)

SERVE = [
    line
    for language, block in FENCES
    if not language
    for line in block.splitlines()
    if "agentworld serve" in line
]


@pytest.mark.parametrize("line", SERVE)
def test_every_serve_command_of_the_page_is_one(
    line: str,
    tmp_path: Path,
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = shlex.split(line, comments=True)
    variables, arguments = words[: words.index("agentworld")], words[words.index("serve") + 1 :]
    if "--model" in arguments:
        folder = tmp_path / arguments[arguments.index("--model") + 1]
        folder.parent.mkdir(parents=True)
        tiny_model.rename(folder)
    monkeypatch.chdir(tmp_path)
    for variable in variables:
        monkeypatch.setenv(*variable.split("=", 1))
    with pytest.raises(SystemExit) as left:
        main(["serve", "--dry-run", *arguments])
    said = capsys.readouterr()
    assert left.value.code == 0, said.err
    extra = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    assert shlex.split(said.out.splitlines()[-1])[-len(extra) or 99 :] == extra


def test_the_command_by_hand_has_the_flags_of_ours() -> None:
    by_hand = next(block for _, block in FENCES if block.startswith("vllm serve"))
    words = shlex.split(by_hand.replace("\\\n", " "))
    weights = Weights(DEFAULT_MODEL)
    ours = build_command(ServerOptions(), python="python", weights=weights, environment={}).argv[3:]
    network = {"--model", "--host", "--port", "--served-model-name"}
    assert {word for word in ours if word.startswith("--")} - network == {
        word for word in words if word.startswith("--")
    }


@pytest.mark.parametrize("language", ["python"])
def test_programs_of_the_page_are_python(language: str) -> None:
    programs = [block for name, block in FENCES if name == language]
    assert len(programs) == 2
    for program in programs:
        compile(program, str(PAGE), "exec")


def test_the_extra_of_the_page_exists() -> None:
    assert "pip install '.[serve]'" in TEXT
    assert REQUIREMENTS["vllm"] in TEXT
    project = tomllib.loads(PAGE.parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8"))
    (extra,) = project["project"]["optional-dependencies"]["serve"]
    assert extra.partition(";")[0] == REQUIREMENTS["vllm"]
