"""What a model was asked and what it cost, and the options about models, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer, ScriptedReply
from tests.cli.in_process import run_command

SECRET = "k-of-the-model-4711"


@dataclass(frozen=True)
class Home:
    """A store, and the command that reads it."""

    folder: Path

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        own = {"AGENTWORLD_HOME": str(self.folder), "HOME": "/"}
        return run_command(arguments, environment={**kept, **own, **environment})

    def refs(self, world: str = "lab") -> list[str]:
        lines = self.run("world", "show", world, "--jsonl").stdout.splitlines()
        return [json.loads(line)["ref"] for line in lines]


def program(stdout: str, *, thinking: str = "") -> ScriptedReply:
    """What the model says of one command, where the server enforces the schema."""
    answer = {"stdout": stdout, "stderr": "", "exit_code": 0, "operations": ()}
    return ScriptedReply(json.dumps(answer), thinking=thinking)


def told(request: ModelRequest) -> ScriptedReply:
    if "$ hg log" in request.last_user:
        return program("3f2c9e1 Mend the parser\n", thinking="A short log will do.")
    if "$ hg status" in request.last_user:
        wrong = ScriptedReply("nothing to commit")
        return program("clean\n") if "could not be used" in request.last_user else wrong
    return ScriptedReply("", thinking="No idea.")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The world `lab`: imagined, computed, imagined after an answer of no use, and a failed step.

    Its server is gone, so that showing needs none.
    """
    here = Home(tmp_path_factory.mktemp("home"))
    with ScriptedModelServer(told, api_key=SECRET) as server:
        for command, code in (
            ("echo hi; hg log --oneline | tr a-z A-Z", 0),
            ("echo computed", 0),
            ("hg status", 0),
            ("kubectl get pods", 4),
        ):
            done = here.run(
                *("shell", "--world", "lab", "--model-url", server.url, "-c", command),
                AGENTWORLD_API_KEY=SECRET,
            )
            assert done.returncode == code, done.stderr
    assert here.run("shell", "--world", "plain", "-c", "true").returncode == 0
    yield here


def shown(home: Home, *arguments: str) -> str:
    done = home.run("prompt", "show", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def as_json(home: Home, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(shown(home, *arguments, "--json"))


def test_the_last_turn_that_asked_is_shown(home: Home) -> None:
    text = shown(home, "lab")
    assert text.startswith("turn 3 of 3: bash-c, imagined\nref ")
    assert "request 1 of 2: $ hg status (answered by the server)" in text
    assert "not used: the answer is not valid JSON" in text
    assert "An earlier answer to this turn could not be used" in text


def test_a_message_that_two_requests_share_is_printed_once(home: Home) -> None:
    text = shown(home, "lab")
    assert text.count("# Role and Task") == 1
    assert "── system: as in request 1 ──" in text


@pytest.mark.parametrize("length", [8, 40])
def test_a_turn_is_named_by_its_number_or_by_its_ref(home: Home, length: int) -> None:
    first = home.refs()[0]
    by_number = shown(home, "lab", "--turn", "1")
    assert by_number.splitlines()[:2] == ["turn 1 of 3: bash-c, imagined", f"ref {first}"]
    assert shown(home, "lab", "--turn", first[:length]) == by_number


def test_a_request_is_shown_whole(home: Home) -> None:
    text = shown(home, "lab", "--turn", "1")
    for part in (
        '"temperature": 0.6',
        "with a JSON schema for the answer (--json shows it)",
        "# Role and Task",
        "### Turn 1\n**Action:**\n$ hg log --oneline\n",
        "script it stands in:\n```\necho hi; hg log --oneline | tr a-z A-Z\n",
        "── reply ──",
        '{"stdout": "3f2c9e1 Mend the parser\\n"',
        "prompt_tokens 1,",
    ):
        assert part in text


def test_thinking_is_shown_on_request(home: Home) -> None:
    assert "A short log will do." not in shown(home, "lab", "--turn", "1")
    assert "── thinking ──" in (text := shown(home, "lab", "--turn", "1", "--thinking"))
    assert "A short log will do." in text


def test_a_failed_step_is_shown_with_every_reply(home: Home) -> None:
    text = shown(home, "lab", "--failed", "--thinking")
    assert text.startswith("step that failed at ")
    assert "in 4 tries" in text.splitlines()[1]
    assert "request 4 of 4: $ kubectl get pods" in text
    assert text.count("\nnot used: ") == 4
    assert text.count("No idea.") == 4


def test_json_holds_messages_parameters_and_replies(home: Home) -> None:
    (one,) = as_json(home, "lab", "--turn", "1")
    assert [message["role"] for message in one["messages"]] == ["system", "user"]
    assert one["messages"][1]["content"].startswith("### Turn 1\n**Action:**\n$ hg log")
    assert one["parameters"]["response_format"]["json_schema"]["schema"]["required"]
    assert (one["about"], one["thinking"]) == ("$ hg log --oneline", "A short log will do.")
    refused, used = as_json(home, "lab")
    assert refused["problem"] and "problem" not in used
    assert len(as_json(home, "lab", "--failed")) == 4


def test_a_computed_turn_says_that_nobody_was_asked(home: Home) -> None:
    lines = shown(home, "lab", "--turn", "2").splitlines()
    assert lines[0] == "turn 2 of 3: bash-c, computed"
    assert lines[2:] == ["No model was asked for it."]
    assert as_json(home, "lab", "--turn", "2") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["labb"], "there is no world 'labb'. There are: lab, plain. Did you mean 'lab'?"),
        (["plain"], "no model was asked in any turn of 'plain'; it has 1."),
        (["plain", "--failed"], "no step of 'plain' failed after a model was asked"),
        (["lab", "--turn", "9"], "'lab' has the turns 1 to 3, and turn 9 was asked for"),
        (["lab", "--turn", "0"], "'lab' has the turns 1 to 3, and turn 0 was asked for"),
        (["lab", "--turn", "xyz"], "no turns of 'lab' have a ref that begins with 'xyz'"),
        (["lab", "--turn", ""], "3 turns of 'lab' have a ref that begins with ''"),
        (["lab", "--turn", "1", "--failed"], "Give one of them"),
    ],
)
def test_a_mistake_is_told_in_one_message(home: Home, arguments: list[str], message: str) -> None:
    done = home.run("prompt", "show", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_a_world_cost_is_told(home: Home) -> None:
    done = home.run("world", "cost", "lab")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == ["turns", "failed", "commands", "requests", "replies", "tokens", "time", "each"]
    for part in (
        "3: 1 computed, 2 imagined",
        "1 step gave no turn",
        "2 imagined inside of turns",
        "7 to the server, 0 saved by the cache of replies",
        "5 not used, 5 without the tag",
        "2.3 requests, ",
        "; 75% of the steps ask the model",
    ):
        assert part in done.stdout


def test_the_cost_as_json_is_the_sum_of_all_requests(home: Home) -> None:
    cost = json.loads(home.run("world", "cost", "lab", "--json").stdout)
    asked = [
        *as_json(home, "lab", "--turn", "1"),
        *as_json(home, "lab", "--turn", "3"),
        *as_json(home, "lab", "--failed"),
    ]
    for name in ("prompt_tokens", "cached_tokens", "completion_tokens"):
        assert cost[name] == sum(one["usage"][name] for one in asked)
    assert (cost["requests"], cost["refused"], cost["failed_steps"]) == (7, 5, 1)
    assert cost["by_provenance"] == {"computed": 1, "imagined": 2}


def test_a_world_without_a_model_cost_nothing(home: Home) -> None:
    done = home.run("world", "cost", "plain")
    assert done.stdout == "turns       1: 1 computed\nmodel       was not asked\n"


@pytest.mark.promise("key-stays-secret")
def test_no_command_shows_or_stores_the_key(home: Home) -> None:
    for arguments in (
        ("prompt", "show", "lab", "--json"),
        ("prompt", "show", "lab", "--failed", "--thinking"),
        ("world", "show", "lab", "--jsonl"),
        ("world", "cost", "lab", "--json"),
    ):
        done = home.run(*arguments, AGENTWORLD_API_KEY=SECRET)
        assert SECRET not in done.stdout + done.stderr
    stored = [path for path in home.folder.rglob("*") if path.is_file()]
    assert stored
    assert [path for path in stored if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.promise("key-stays-secret")
def test_no_option_takes_a_key(home: Home) -> None:
    for command in ("shell", "mcp", "serve", "doctor"):
        assert "--api-key" not in home.run(command, "--help").stdout


def test_what_is_computed_asks_no_model(home: Home) -> None:
    with ScriptedModelServer([]) as server:
        done = home.run("shell", "--model-url", server.url, "-c", "echo hi | tr a-z A-Z")
        assert (done.stdout, done.stderr, done.returncode) == ("HI\n", "", 0)
        assert server.access_log == []


def test_an_imagined_program_has_output_messages_and_exit_code_of_its_own(home: Home) -> None:
    answer = '{"stdout": "out\\n", "stderr": "err\\n", "exit_code": 7, "operations": []}'
    with ScriptedModelServer([ScriptedReply(answer)]) as server:
        done = home.run("shell", "-c", "helm lint", AGENTWORLD_MODEL_URL=server.url)
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 7)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (["--max-tokens", "500"], "--max-tokens"),
        (["--token-budget", "500"], "--token-budget"),
        (["--prompts", "."], "--prompts"),
        (["--model", "tiny"], "--model"),
        (["--thinking"], "--thinking"),
        (["--no-thinking"], "--no-thinking"),
        (["--thinking-tokens", "9"], "--thinking-tokens"),
        (["--model-2", "large"], "--model-2"),
    ],
)
def test_an_option_about_a_model_wants_a_model(home: Home, option: list[str], name: str) -> None:
    done = home.run("shell", *option, "-c", "echo hi")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name} is about a language world model, and none is named" in done.stderr
    assert "--model-url http://127.0.0.1:8000/v1, or AGENTWORLD_MODEL_URL" in done.stderr


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://"])
def test_what_is_no_url_is_said_before_anything_happens(home: Home, url: str) -> None:
    done = home.run("shell", "--world", "never", "--model-url", url, "-c", "echo hi")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"the model URL {url!r} is not one" in done.stderr
    assert "never" not in home.run("world", "ls").stdout


@pytest.mark.promise("key-stays-secret")
def test_a_key_in_the_url_is_refused_and_not_shown(home: Home) -> None:
    url = f"http://user:{SECRET}@127.0.0.1:9/v1"
    done = home.run("shell", "--model-url", url, "-c", "echo hi")
    assert done.returncode == 2
    assert "Leave it out and set AGENTWORLD_API_KEY" in done.stderr
    assert SECRET not in done.stderr
    done = home.run("shell", "--model-url", f"http://user:{SECRET}/@[::1/v1", "-c", "echo hi")
    assert done.returncode == 2
    assert "is not one" in done.stderr
    assert SECRET not in done.stderr


@pytest.mark.slow  # it is tried again, with pauses
@pytest.mark.promise("model-failure")
def test_a_server_that_is_not_there_fails_the_command_and_prints_nothing(home: Home) -> None:
    with ScriptedModelServer() as gone:
        url = gone.url
    done = home.run("shell", "--model-url", url, "-c", "echo hi; hg log")
    assert (done.returncode, done.stdout) == (4, "")
    assert f"the model server {url} cannot be reached" in done.stderr
    assert "agentworld serve" in done.stderr


def test_a_wrong_model_name_lists_what_is_served(home: Home) -> None:
    with ScriptedModelServer(model="tiny") as server:
        done = home.run("shell", "--model-url", server.url, "--model", "tinny", "-c", "hg log")
    assert (done.returncode, done.stdout) == (4, "")
    assert "'tinny'" in done.stderr and "'tiny'" in done.stderr
