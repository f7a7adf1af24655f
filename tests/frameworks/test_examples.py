"""The examples of the guide run as they stand there, against a server over real HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.chat_server import ChatServer, Says

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "snippets" / "frameworks"
NAMES = ("openai_loop", "openai_agents", "pydantic_ai_agent")

FIX = 's/read -r record;/read -r record || [ -n "$record" ];/'
SCRIPT = [
    Says(calls=(("bash", '{"command": "make test | tail -n 1"}'), ("bash", '{"comand": "ls"}'))),
    Says(calls=(("bash", json.dumps({"command": f"sed -i '{FIX}' src/csv.sh"})),)),
    Says(calls=(("bash", '{"command": "make test | tail -n 1"}'),)),
    Says("They pass."),
]


def answers(requests: list[dict[str, Any]]) -> list[str]:
    """What the model was told that its tools said, in either protocol."""
    last = requests[-1]
    if "messages" in last:
        return [one["content"] for one in last["messages"] if one["role"] == "tool"]
    return [one["output"] for one in last["input"] if one.get("type") == "function_call_output"]


def run(name: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_at_most_twenty_lines_of_code(name: str) -> None:
    lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 20


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_of_the_framework_works_in_a_world(
    name: str, chat_server: ChatServer, environment: dict[str, str], tmp_path: Path
) -> None:
    chat_server.script = SCRIPT
    done = run(name, environment, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = answers(chat_server.requests)
    assert told[0].startswith("12 passed, 2 failed\n")
    assert told[1].startswith("Error: 'bash' does not take these arguments:")
    assert told[2:] == ["", "14 passed, 0 failed\n"]
    assert done.stdout.startswith("They pass. diff --git a/srv/app/src/csv.sh b/srv/app/src/csv.sh")


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_answered_ends_the_run_and_is_no_text_for_the_agent(
    name: str, chat_server: ChatServer, environment: dict[str, str], tmp_path: Path
) -> None:
    # Nothing listens there: the world's model is down.
    environment["AGENTWORLD_MODEL_URL"] = "http://127.0.0.1:9/v1"
    chat_server.script = [Says(calls=(("bash", '{"command": "kubectl get pods"}'),)), Says("Done.")]
    done = run(name, environment, tmp_path)
    assert done.returncode == 1
    assert "ModelUnavailable" in done.stderr
    assert len(chat_server.requests) == 1
