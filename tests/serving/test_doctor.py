"""The doctor, in front of servers that are right, wrong, or not there."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted import (
    Disconnect,
    ErrorReply,
    Hang,
    ModelRequest,
    RawReply,
    Reply,
    ScriptedModelServer,
    ScriptedReply,
    StreamError,
)
from agentworld_sim.serving.doctor import Diagnosis, Finding, diagnose

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))

PERSON = ScriptedReply('{"name": "Ada", "age": 36}', thinking="An invented one.")


def answer(request: ModelRequest) -> Reply | str:
    """As the world model behind a well started server would."""
    if "response_format" in request.body:
        return PERSON
    if "random words" in request.last_user:
        return f"words of seed {request.body['seed']}"
    if request.max_tokens == 1:
        return "x"
    return ScriptedReply.observation("root@lab:/srv# ", thinking="The shell echoes it.")


def answering(reply: Callable[[ModelRequest], Reply | str | None]) -> Any:
    """`answer`, except where `reply` has one."""

    def script(request: ModelRequest) -> Reply | str:
        return reply(request) or answer(request)

    return script


def observations(reply: Reply | str) -> Any:
    """`answer`, with `reply` to each request for an observation."""
    return answering(lambda request: reply if "### Turn" in request.last_user else None)


def measures(request: ModelRequest) -> bool:
    """Whether the time of its answer is taken."""
    return "Describe file system" in request.last_user


def verdicts(diagnosis: Diagnosis) -> dict[str, str]:
    return {one.check: one.verdict for one in diagnosis.findings}


def found(diagnosis: Diagnosis, check: str) -> Finding:
    return next(one for one in diagnosis.findings if one.check == check)


def test_a_server_that_is_right_passes_every_check() -> None:
    with ScriptedModelServer(answer) as server:
        told: list[Finding] = []
        diagnosis = diagnose(server.url, on_finding=told.append)
    assert verdicts(diagnosis) == dict.fromkeys(
        (
            *("reachable", "model", "context length", "reasoning parser", "tag"),
            *("prefix caching", "structured output", "seeds", "speed", "speed, 4 at a time"),
        ),
        "ok",
    )
    assert diagnosis.ok
    assert told == list(diagnosis.findings)
    assert diagnosis.requests == len(server.requests)
    assert found(diagnosis, "reasoning parser").summary == "thinking arrives in `reasoning`"


def test_observations_are_asked_for_in_the_wire_form() -> None:
    with ScriptedModelServer(answer) as server:
        diagnose(server.url, quick=True, count=2)
    first, second = server.requests[:2]
    assert [message["role"] for message in first.messages] == [
        *("system", "user", "assistant", "user"),
    ]
    assert first.messages[1]["content"].startswith("### Turn 1\n\n**Current State:**\n")
    assert first.messages[2]["content"].startswith("**Environment Observation:**\n")
    assert first.last_user.startswith("### Turn 2\n\n**Action:**\n```json\n[{")
    assert first.last_user != second.last_user
    assert {name: first.body[name] for name in ("temperature", "top_p", "top_k")} == {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
    }
    assert first.enable_thinking is True


def test_quick_leaves_out_what_takes_long() -> None:
    with ScriptedModelServer(answer) as server:
        diagnosis = diagnose(server.url, quick=True, count=1)
    assert list(verdicts(diagnosis))[-2:] == ["tag", "prefix caching"]
    assert len(server.requests) == 3


def test_a_url_without_v1_is_named_right_and_used() -> None:
    with ScriptedModelServer(answer) as server:
        url = server.url
        diagnosis = diagnose(server.root_url, quick=True)
    finding = found(diagnosis, "reachable")
    assert finding.verdict == "failed"
    assert finding.advice == f"Set AGENTWORLD_MODEL_URL={url}"
    assert verdicts(diagnosis)["tag"] == "ok"
    assert diagnosis.url == url


def test_a_refused_connection_says_that_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    diagnosis = diagnose(f"http://127.0.0.1:{port}/v1")
    (finding,) = diagnosis.findings
    assert finding.summary.startswith(
        f"the model server http://127.0.0.1:{port}/v1 cannot be reached"
    )
    assert "nothing listens there. Start one with `agentworld serve`" in finding.summary


def test_an_unknown_host_says_so() -> None:
    diagnosis = diagnose("http://model.invalid/v1")
    (finding,) = diagnosis.findings
    assert "the host 'model.invalid' is not known" in finding.summary


@contextmanager
def socket_server(talk: Callable[[socket.socket], None]) -> Generator[str]:
    """A server that says what `talk` says to each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    talk(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def page(body: str, status: str = "200 OK", more: str = "") -> Callable[[socket.socket], None]:
    """A server that gives one page to everything."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        head = (
            f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
        )
        connection.sendall((head + body).encode())

    return talk


def greet(connection: socket.socket) -> None:
    """What another kind of server says first."""
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (page("<!DOCTYPE html><html></html>"), "answers with an HTML page"),
        (
            page("", "302 Found", "Location: https://login.example/\r\n"),
            "redirects to https://login",
        ),
        (page('{"detail": "Not Found"}', "404 Not Found"), "has no /models"),
        (page("loading", "503 Service Unavailable"), "gives status 503"),
        (page('{"hello": "world"}'), "is no list of models"),
        (greet, "broke"),
    ],
)
def test_something_else_behind_the_url_is_called_what_it_is(
    talk: Callable[[socket.socket], None], said: str
) -> None:
    with socket_server(talk) as place:
        diagnosis = diagnose(f"http://{place}")
    assert [one.verdict for one in diagnosis.findings] == ["failed"]
    assert said in diagnosis.findings[0].summary


def test_https_to_a_server_of_plain_http_names_the_scheme() -> None:
    with ScriptedModelServer(answer) as server:
        diagnosis = diagnose(server.url.replace("http://", "https://"))
    assert "wants an http:// URL" in diagnosis.findings[0].summary


def test_a_server_that_hangs_is_given_up() -> None:
    with ScriptedModelServer([Hang()]) as server:
        diagnosis = diagnose(server.url, timeout=0.5)
    finding = found(diagnosis, "answers")
    assert finding.verdict == "failed"
    assert "sent nothing" in finding.summary


@pytest.mark.parametrize(
    ("key", "advice"), [(None, "Set AGENTWORLD_API_KEY"), ("sk-wrong", "Set AGENTWORLD_API_KEY")]
)
def test_a_key_that_is_missing_or_wrong_is_said_and_never_shown(
    key: str | None, advice: str
) -> None:
    with ScriptedModelServer(answer, api_key="sk-right") as server:
        diagnosis = diagnose(server.url, api_key=key)
        right = diagnose(server.url, api_key="sk-right", quick=True)
    assert verdicts(diagnosis) == {"reachable": "ok", "key": "failed"}
    assert advice in str(diagnosis.findings[1].advice)
    assert "sk-" not in json.dumps(diagnosis.to_json())
    assert right.ok


def test_a_key_that_the_server_repeats_is_not_repeated() -> None:
    script = [ErrorReply(401, "Incorrect API key provided: sk-secret.")]
    with ScriptedModelServer(script) as server:
        diagnosis = diagnose(server.url, api_key="sk-secret")
    summary = found(diagnosis, "key").summary
    assert "refuses the key (401: Incorrect API key provided: …)" in summary
    assert "AGENTWORLD_API_KEY" in summary and "sk-secret" not in summary


def test_a_wrong_model_name_lists_what_is_served_and_the_nearest() -> None:
    with ScriptedModelServer(answer, model=["world-35b", "agent-8b"]) as server:
        wrong = diagnose(server.url, model="world-35")
        none = diagnose(server.url)
        right = diagnose(server.url, model="agent-8b", quick=True)
    finding = found(wrong, "model")
    assert finding.summary == "'world-35' is not served; served: world-35b, agent-8b"
    assert "Did you mean 'world-35b'?" in str(finding.advice)
    assert found(none, "model").summary == "several are served: world-35b, agent-8b"
    assert right.ok
    assert {request.body["model"] for request in server.requests} == {"agent-8b"}


def test_a_short_context_is_a_warning_with_the_flag_and_shorter_questions() -> None:
    with ScriptedModelServer(answer, max_model_len=2048, dialect="sglang") as server:
        diagnosis = diagnose(server.url)
    finding = found(diagnosis, "context length")
    assert (finding.verdict, finding.summary) == ("warning", "2,048 tokens")
    assert "--max-model-len" in str(finding.advice)
    assert diagnosis.ok
    assert verdicts(diagnosis)["prefix caching"] == "ok"
    assert found(diagnosis, "reasoning parser").data["field"] == "reasoning_content"


def test_thinking_in_the_content_names_the_reasoning_parser() -> None:
    with ScriptedModelServer(answer, reasoning_parser=False) as server:
        diagnosis = diagnose(server.url, quick=True)
    finding = found(diagnosis, "reasoning parser")
    assert finding.verdict == "failed"
    assert finding.advice == "Start the server with --reasoning-parser qwen3."


@pytest.mark.parametrize(
    ("reply", "parser", "tag", "said"),
    [
        ("The screen shows /srv.", "warning", "failed", "0 of 3 whole answers carry the tag"),
        (ScriptedReply("", thinking="It is /srv."), "ok", "failed", "3 are empty though nothing"),
        (
            ScriptedReply("", thinking="It is", finish_reason="length"),
            "ok",
            "warning",
            "all 3 answers were cut at 4,096 tokens",
        ),
    ],
)
def test_answers_that_are_not_the_world_models_are_told_apart(
    reply: Reply | str, parser: str, tag: str, said: str
) -> None:
    with ScriptedModelServer(observations(reply)) as server:
        diagnosis = diagnose(server.url, quick=True)
    assert verdicts(diagnosis)["reasoning parser"] == parser
    assert verdicts(diagnosis)["tag"] == tag
    assert said in found(diagnosis, "tag").summary


def test_some_untagged_answers_are_a_warning_with_their_number() -> None:
    def once(request: ModelRequest) -> str | None:
        return "/srv" if request.index == 0 else None

    with ScriptedModelServer(answering(once)) as server:
        diagnosis = diagnose(server.url, quick=True)
    finding = found(diagnosis, "tag")
    assert (finding.verdict, finding.data) == (
        "warning",
        {"answers": 3, "tagged": 2, "cut": 0, "empty": 0},
    )


@pytest.mark.parametrize(
    ("options", "verdict", "summary", "advice"),
    [
        ({}, "ok", "prompt tokens came from the cache", None),
        ({"report_cached_tokens": False}, "ok", "on: /metrics counts", "--enable-prompt-tokens"),
        ({"prefix_caching": False}, "warning", "nothing came from", "--enable-prefix-caching"),
        (
            {"prefix_caching": False, "report_cached_tokens": False},
            "warning",
            "",
            "--enable-pr",
        ),
    ],
)
def test_prefix_caching_is_seen_in_the_answers_or_in_the_metrics(
    options: dict[str, Any], verdict: str, summary: str, advice: str | None
) -> None:
    with ScriptedModelServer(answer, **options) as server:
        diagnosis = diagnose(server.url, quick=True)
    finding = found(diagnosis, "prefix caching")
    assert finding.verdict == verdict
    assert summary in finding.summary
    assert (advice or "None") in str(finding.advice)


@pytest.mark.parametrize(
    ("reply", "summary"),
    [
        (
            ErrorReply(400, "response_format is not supported"),
            "not supported: the server refuses a schema",
        ),
        ("Ada is 36.", "the schema was not enforced"),
        ('{"name": "Ada", "age": 36}', "enforced, but the thinking is lost"),
        (
            ScriptedReply("", thinking="Hm", finish_reason="length"),
            "cannot tell: the answer was cut",
        ),
    ],
)
def test_structured_output_that_does_not_work_is_a_warning(
    reply: Reply | str, summary: str
) -> None:
    script = answering(lambda request: reply if "response_format" in request.body else None)
    with ScriptedModelServer(script) as server:
        diagnosis = diagnose(server.url)
    finding = found(diagnosis, "structured output")
    assert finding.verdict == "warning"
    assert summary in finding.summary
    assert diagnosis.ok


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("words {0.index}", "the same seed gave two different answers"),
        ("words", "cannot tell: another seed gave the same answer"),
    ],
)
def test_seeds_that_are_not_honoured_are_a_warning(text: str, summary: str) -> None:
    script = answering(
        lambda request: text.format(request) if "random words" in request.last_user else None
    )
    with ScriptedModelServer(script) as server:
        diagnosis = diagnose(server.url)
    assert found(diagnosis, "seeds").summary == summary
    assert found(diagnosis, "seeds").verdict == "warning"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (ErrorReply(500), "answers with 500"),
        (RawReply.html_page(), "sends an HTML page titled"),
        (RawReply.invalid_json(), "sends broken JSON"),
        (RawReply.error_with_status_200("Overloaded."), "in the place of a reply: Overloaded."),
        (Disconnect(), "broke"),
    ],
)
def test_a_server_that_fails_to_answer_fails_and_is_asked_no_more(reply: Reply, said: str) -> None:
    with ScriptedModelServer([reply]) as server:
        diagnosis = diagnose(server.url)
    assert list(verdicts(diagnosis)) == ["reachable", "model", "context length", "answers"]
    assert said in found(diagnosis, "answers").summary
    assert not diagnosis.ok


@pytest.mark.parametrize("reply", [StreamError(), Disconnect(after_chunks=1)])
def test_a_stream_that_breaks_fails_the_measurement_alone(reply: Reply) -> None:
    script = answering(lambda request: reply if measures(request) else None)
    with ScriptedModelServer(script) as server:
        diagnosis = diagnose(server.url)
    assert [one for one, verdict in verdicts(diagnosis).items() if verdict == "failed"] == ["speed"]


def test_a_slow_server_is_a_warning() -> None:
    slow = ScriptedReply("ten tokens " * 4, seconds_per_chunk=0.3, chunk_size=16)
    script = answering(lambda request: slow if measures(request) else None)
    with ScriptedModelServer(script) as server:
        diagnosis = diagnose(server.url)
    assert found(diagnosis, "speed").verdict == "warning"
    assert found(diagnosis, "speed, 4 at a time").verdict == "ok"


@pytest.mark.parametrize("text", ["too short", ""])
def test_a_speed_is_not_made_of_a_few_tokens(text: str) -> None:
    script = answering(lambda request: ScriptedReply(text) if measures(request) else None)
    with ScriptedModelServer(script) as server:
        diagnosis = diagnose(server.url)
    assert found(diagnosis, "speed").summary.startswith("cannot tell: the answer ended after")


def test_a_server_that_knows_only_openais_fields_is_asked_with_those() -> None:
    with ScriptedModelServer(answer, strict_fields=True) as server:
        diagnosis = diagnose(server.url, quick=True)
    assert found(diagnosis, "request fields").verdict == "warning"
    assert verdicts(diagnosis)["tag"] == "ok"


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "http://", "http://[::1/v1", "http://host:0/v1"]
)
def test_what_is_no_url_is_the_users_mistake(url: str) -> None:
    with pytest.raises(UsageError, match=r"the model URL .* is not one"):
        diagnose(url)


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="AGENTWORLD_API_KEY") as raised:
        diagnose("http://user:hunter2@host/v1")
    assert "hunter2" not in str(raised.value)


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGENTWORLD, "doctor", *arguments],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_prints_a_table_and_what_to_fix() -> None:
    with ScriptedModelServer(answer, reasoning_parser=False) as server:
        url = server.url
        done = doctor("--quick", AGENTWORLD_MODEL_URL=url)
    assert done.returncode == 4
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["ok", "reachable", url] in lines
    assert [line[:3] for line in lines if line[0] == "failed"] == [
        ["failed", "reasoning", "parser"]
    ]
    assert "→ Start the server with --reasoning-parser qwen3." in done.stdout


def test_the_command_speaks_json_and_takes_the_key_from_the_environment() -> None:
    with ScriptedModelServer(answer, api_key="sk-right") as server:
        done = doctor("--model-url", server.url, "--json", "--quick", AGENTWORLD_API_KEY="sk-right")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["ok"] is True
    assert [one["check"] for one in result["checks"]] == [
        *("reachable", "model", "context length", "reasoning parser", "tag", "prefix caching"),
    ]
    assert "sk-right" not in done.stdout


def test_the_command_without_a_url_says_how_to_get_one() -> None:
    done = doctor()
    assert done.returncode == 2
    assert "agentworld serve" in done.stderr
    assert "AGENTWORLD_MODEL_URL" in done.stderr
