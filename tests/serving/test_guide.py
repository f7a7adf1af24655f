"""The page on serving: its commands are accepted, its table is what the check of the cards says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentworld_sim.serving import ServerOptions, build_command
from agentworld_sim.serving._gpus import Gpu
from agentworld_sim.serving._missing import gpu_obstacles
from agentworld_sim.serving._weights import Weights
from agentworld_sim.serving.environments import REQUIREMENTS
from agentworld_sim.serving.options import DEFAULT_MODEL

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))

PAGE = Path(__file__).resolve().parents[3].joinpath("docs", "guides", "serving.md")
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
    line: str, tmp_path: Path, tiny_model: Path
) -> None:
    words = shlex.split(line, comments=True)
    variables, arguments = words[: words.index("agentworld")], words[words.index("serve") + 1 :]
    if "--model" in arguments:
        folder = tmp_path / arguments[arguments.index("--model") + 1]
        folder.parent.mkdir(parents=True)
        tiny_model.rename(folder)
    done = subprocess.run(
        [AGENTWORLD, "serve", "--dry-run", *arguments],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "AGENTWORLD_HOME": str(tmp_path / "home"),
            **dict(one.split("=", 1) for one in variables),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    extra = arguments[arguments.index("--") + 1 :] if "--" in arguments else []
    assert shlex.split(done.stdout.splitlines()[-1])[-len(extra) or 99 :] == extra


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


@pytest.mark.parametrize(
    ("gigabytes", "cards", "memory", "fits"),
    [
        (70.0, 1, 80, True),
        (70.0, 4, 24, True),
        (70.0, 2, 24, False),
        (36.8, 1, 48, True),
        (36.8, 2, 24, True),
        (22.0, 2, 24, True),
        (22.0, 1, 32, True),
        (22.0, 1, 24, False),
    ],
)
def test_the_table_of_cards_is_what_the_check_says(
    gigabytes: float, cards: int, memory: int, fits: bool
) -> None:
    # A card of 24 GB has 24 GiB.
    gpus = [Gpu("card", memory * 1.0737)] * cards
    options = ServerOptions(tensor_parallel_size=cards, max_model_len=131_072)
    found = gpu_obstacles(options, Weights(DEFAULT_MODEL, gigabytes=gigabytes), gpus)
    assert (found == []) == fits


def test_the_extra_of_the_page_exists() -> None:
    assert "pip install '.[serve]'" in TEXT
    project = tomllib.loads(PAGE.parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8"))
    (extra,) = project["project"]["optional-dependencies"]["serve"]
    assert extra.partition(";")[0] == REQUIREMENTS["vllm"]
