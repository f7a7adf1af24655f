"""The pages about imagining: their commands are run, their scenario is loaded, their numbers hold."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer, ScriptedReply
from agentworld_sim.scenario import Scenario

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "guides" / "imagining.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
LINES = [line for language, block in FENCES if not language for line in block.splitlines()]
SHOWING = ("shell", "prompt", "world")
AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))


def told(request: ModelRequest) -> ScriptedReply:
    if "$ kubectl" in request.last_user:
        return ScriptedReply("")
    return ScriptedReply('{"stdout": "ok\\n", "stderr": "", "exit_code": 0, "operations": []}')


def words(line: str) -> list[str]:
    return shlex.split(line, comments=True)


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    wanted = [
        line for line in LINES if line.startswith("agentworld ") and words(line)[1] in SHOWING
    ]
    assert len(wanted) >= 6
    with ScriptedModelServer(told) as server:
        for line in wanted:
            done = subprocess.run(
                [AGENTWORLD, *words(line.replace("http://127.0.0.1:8000/v1", server.url))[1:]],
                cwd=tmp_path,
                env={
                    "PATH": os.environ["PATH"],
                    "AGENTWORLD_HOME": str(tmp_path / "home"),
                    "AGENTWORLD_MODEL_URL": server.url,
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            fails = "kubectl" in line
            assert (done.returncode, bool(done.stdout)) == (4 if fails else 0, not fails), line


@pytest.mark.parametrize("command", [["shell"], ["mcp", "serve"]], ids=" ".join)
def test_the_options_of_the_page_exist(command: list[str]) -> None:
    shown = subprocess.run(
        [AGENTWORLD, *command, "--help"], capture_output=True, text=True, check=True
    ).stdout
    named = set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE))
    assert len(named) == 7
    assert [option for option in named if option not in shown] == []


def test_the_settings_of_the_page_have_the_defaults_it_names() -> None:
    settings = ModelSettings(url="http://127.0.0.1:8000/v1")
    rows = re.findall(r"^\| `(\w+)` \| ([\d,.]+|none|auto) \|", PAGE, re.MULTILINE)
    assert len(rows) >= 8
    for name, value in rows:
        default = getattr(settings, name)
        shown = (
            "none" if default is None else f"{default:,}" if isinstance(default, int) else default
        )
        assert value == str(shown), name


def test_the_scenario_of_the_page_is_one() -> None:
    file = DOCS / "snippets" / "scenarios" / "shop.yaml"
    (shown,) = [block for language, block in FENCES if language == "yaml"]
    assert shown == file.read_text(encoding="utf-8")
    scenario = Scenario.load(file)
    assert scenario.routes.tools == {"refund": "refuse"}
    assert scenario.model.token_budget == 2_000_000
