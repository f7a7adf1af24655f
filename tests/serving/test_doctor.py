"""The doctor, in front of servers that are right, wrong, or not there."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from agentworld_sim.cli import main
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
)
from agentworld_sim.serving.doctor import Diagnosis, Finding, diagnose
from tests.llm.harness import raw_server, response

PERSON = ScriptedReply('{"name": "Ada", "age": 36}', thinking="An invented one.")


def answer(request: ModelRequest) -> Reply | str:
    """As the world model behind a well started server would."""
    if "response_format" in request.body:
        return PERSON
    if request.max_tokens == 1:
        return "x"
    if "ten words" in request.last_user:
        return "oak seven"
    return ScriptedReply.observation("root@lab:/srv# ", thinking="The shell echoes it.")


def answering(reply: Callable[[ModelRequest], Reply | str | None]) -> Any:
    """`answer`, except where `reply` has one."""

    def script(request: ModelRequest) -> Reply | str:
        return reply(request) or answer(request)

    return script


def observations(reply: Reply | str) -> Any:
    """`answer`, with `reply` to each request for an observation."""
    return answering(lambda request: reply if "### Turn" in request.last_user else None)


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
            *("server", "model", "context length", "kind", "reasoning parser", "observation"),
            *("log-probabilities", "structured output", "prefix caching", "thinking off"),
            *("seeds", "parameters"),
        ),
        "ok",
    )
    assert found(diagnosis, "kind").summary == "vLLM"
    assert diagnosis.ok
    assert told == list(diagnosis.findings)
    assert found(diagnosis, "reasoning parser").summary == "thinking arrives in `reasoning`"


def test_an_observation_is_asked_for_in_the_wire_form() -> None:
    with ScriptedModelServer(answer) as server:
        diagnose(server.url)
    first = server.requests[0]
    assert [message["role"] for message in first.messages] == ["system", "user"]
    assert first.last_user.startswith("### Turn 1\n\n**Current State:**\n")
    assert "\n\n**Action:**\n```json\n[{" in first.last_user
    assert {name: first.body[name] for name in ("temperature", "top_p", "top_k")} == {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
    }
    assert first.enable_thinking is True


def test_a_url_without_v1_is_named_right() -> None:
    with ScriptedModelServer(answer) as server:
        url, diagnosis = server.url, diagnose(server.root_url)
    assert verdicts(diagnosis) == {"server": "failed"}
    assert f"An API answers at {url}: set AGENTWORLD_MODEL_URL" in str(diagnosis)


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


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (response(b"<!DOCTYPE html><html></html>"), "sends an HTML page"),
        (
            response(b"", "Location: https://login.example/", status="302 Found"),
            "points to 'https://login",
        ),
        (response(b"loading", status="503 Service Unavailable"), "answers with 503"),
        (response(b'{"hello": "world"}'), "serves no model yet"),
    ],
)
async def test_something_else_behind_the_url_is_called_what_it_is(reply: bytes, said: str) -> None:
    async with raw_server(reply, reply) as raw:
        diagnosis = await asyncio.to_thread(diagnose, raw.url)
    assert verdicts(diagnosis) == {"server": "failed"}
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


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize("key", [None, "sk-wrong"])
def test_a_key_that_is_missing_or_wrong_is_said_and_never_shown(key: str | None) -> None:
    with ScriptedModelServer(answer, api_key="sk-right") as server:
        diagnosis = diagnose(server.url, api_key=key)
        right = diagnose(server.url, api_key="sk-right")
    assert verdicts(diagnosis) == {"server": "failed"}
    assert "refuses the key (401" in diagnosis.findings[0].summary
    assert "AGENTWORLD_API_KEY" in diagnosis.findings[0].summary
    assert "sk-" not in json.dumps(diagnosis.to_json())
    assert right.ok


def test_a_wrong_model_name_lists_what_is_served_and_the_nearest() -> None:
    with ScriptedModelServer(answer, model=["world-35b", "agent-8b"]) as server:
        wrong = diagnose(server.url, model="world-35")
        none = diagnose(server.url)
        right = diagnose(server.url, model="agent-8b")
    summary = found(wrong, "server").summary
    assert "does not serve that model. Did you mean 'world-35b'?" in summary
    assert "It serves 'world-35b', 'agent-8b'." in found(none, "server").summary
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
    assert "`reasoning_content`" in found(diagnosis, "reasoning parser").summary


def test_thinking_in_the_content_names_the_reasoning_parser() -> None:
    with ScriptedModelServer(answer, reasoning_parser=False) as server:
        diagnosis = diagnose(server.url)
    finding = found(diagnosis, "reasoning parser")
    assert finding.verdict == "failed"
    assert finding.advice == "Start the server with --reasoning-parser qwen3."


@pytest.mark.parametrize(
    ("reply", "parser", "observation", "said"),
    [
        ("The screen shows /srv.", "warning", "failed", "does not carry the tag"),
        (ScriptedReply("", thinking="It is /srv."), "ok", "failed", "empty though nothing cut it"),
        (
            ScriptedReply("", thinking="It is", finish_reason="length"),
            "ok",
            "warning",
            "the answer was cut at 4,096 tokens",
        ),
    ],
)
def test_an_answer_that_is_not_the_world_models_is_told_apart(
    reply: Reply | str, parser: str, observation: str, said: str
) -> None:
    with ScriptedModelServer(observations(reply)) as server:
        diagnosis = diagnose(server.url)
    assert verdicts(diagnosis)["reasoning parser"] == parser
    assert verdicts(diagnosis)["observation"] == observation
    assert said in found(diagnosis, "observation").summary


@pytest.mark.parametrize(
    ("options", "verdict", "summary", "advice"),
    [
        ({}, "ok", "prompt tokens came from the cache", None),
        ({"report_cached_tokens": False}, "warning", "cannot tell", "--enable-prompt-tokens"),
        ({"prefix_caching": False}, "warning", "nothing came from", "--enable-prefix-caching"),
    ],
)
def test_prefix_caching_is_seen_in_the_answers(
    options: dict[str, Any], verdict: str, summary: str, advice: str | None
) -> None:
    with ScriptedModelServer(answer, **options) as server:
        diagnosis = diagnose(server.url)
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
        ("[]", "the schema was not enforced"),
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


def transformers_serve(request: ModelRequest) -> Reply:
    """As `transformers serve` 5.19 answers: it refuses what it does not know by name, and takes a schema and
    log-probabilities without doing anything about them."""
    if "top_k" in request.body:
        refused = "Unexpected fields in the request: {'top_k'}"
        return RawReply(json.dumps({"detail": refused}), 422)
    thinking = "The shell echoes it." if request.enable_thinking else "\n\n"
    text = "<predicted_observation>\n/srv\n</predicted_observation>"
    deltas = [{"role": "assistant"}, {"reasoning_content": thinking}, {"content": text}]
    chunks: list[dict[str, Any]] = [{"delta": delta, "index": 0} for delta in deltas]
    chunks.append({"delta": {}, "index": 0, "finish_reason": "stop"})
    usage = {"completion_tokens": 9, "prompt_tokens": 70, "total_tokens": 79}
    events: list[dict[str, Any]] = [
        {"model": f"{request.body['model']}@main", "choices": [one]} for one in chunks
    ]
    events[-1]["usage"] = usage
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return RawReply(body, content_type="text/event-stream")


def test_a_server_of_transformers_is_told_by_what_it_answers_and_cannot() -> None:
    with ScriptedModelServer(transformers_serve) as server:
        diagnosis = diagnose(server.url)
    assert found(diagnosis, "kind").summary == "transformers serve"
    assert found(diagnosis, "parameters").summary == "refused: top_k"
    assert [name for name, verdict in verdicts(diagnosis).items() if verdict != "ok"] == [
        *("log-probabilities", "structured output", "prefix caching", "parameters"),
    ]
    assert diagnosis.ok


def test_a_server_that_answers_under_another_name_says_it() -> None:
    reply = RawReply('{"model": "m-2026-08-06", "choices": [{"message": {"content": "/srv"}}]}')
    with ScriptedModelServer(observations(reply), dialect="sglang") as server:
        diagnosis = diagnose(server.url)
    assert found(diagnosis, "kind").summary == "SGLang, answers as m-2026-08-06"


def test_thinking_that_cannot_be_switched_off_and_answers_that_differ_are_warnings() -> None:
    words = iter(["oak seven", "moon fork"])

    def reply(request: ModelRequest) -> Reply | None:
        if "ten words" not in request.last_user:
            return None
        return ScriptedReply(next(words), thinking="What else?")

    with ScriptedModelServer(answering(reply)) as server:
        diagnosis = diagnose(server.url)
    assert found(diagnosis, "thinking off").summary == "it thinks all the same"
    assert found(diagnosis, "seeds").summary == "equal requests have different answers"
    assert diagnosis.ok


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
    assert list(verdicts(diagnosis)) == ["server", "model", "context length", "answers"]
    assert said in found(diagnosis, "answers").summary
    assert not diagnosis.ok


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


Doctor = Callable[..., tuple[int, str, str]]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Runs the command: exit code, stdout, stderr."""
    for name in ("AGENTWORLD_MODEL_URL", "AGENTWORLD_MODEL", "AGENTWORLD_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str, **variables: str) -> tuple[int, str, str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as left:
            main(["doctor", *arguments])
        said = capsys.readouterr()
        return int(str(left.value.code)), said.out, said.err

    return run


def test_the_command_prints_what_was_found_and_what_to_fix(doctor: Doctor) -> None:
    with ScriptedModelServer(answer, reasoning_parser=False) as server:
        url = server.url
        code, out, _ = doctor(AGENTWORLD_MODEL_URL=url)
    assert code == 4
    lines = [line.split() for line in out.splitlines()]
    assert ["ok", "server", url] in lines
    assert [line[:3] for line in lines if line[0] == "failed"] == [
        ["failed", "reasoning", "parser"]
    ]
    assert "→ Start the server with --reasoning-parser qwen3." in out


def test_the_command_speaks_json_and_takes_the_key_from_the_environment(doctor: Doctor) -> None:
    with ScriptedModelServer(answer, api_key="sk-right") as server:
        code, out, err = doctor("--model-url", server.url, "--json", AGENTWORLD_API_KEY="sk-right")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["ok"] is True
    assert [one["check"] for one in result["checks"]] == [
        *("server", "model", "context length", "kind", "reasoning parser", "observation"),
        *("log-probabilities", "structured output", "prefix caching", "thinking off"),
        *("seeds", "parameters"),
    ]
    assert "sk-right" not in out


def test_the_command_without_a_url_says_how_to_get_one(doctor: Doctor) -> None:
    code, _, err = doctor()
    assert code == 2
    assert "agentworld serve" in err
    assert "AGENTWORLD_MODEL_URL" in err
