"""`agentworld serve`, as a user runs it."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from agentworld_sim.cli import main
from agentworld_sim.serving import free_port

MakeEnvironment = Callable[..., Path]
Serve = Callable[..., tuple[int, str, str]]


@pytest.fixture
def serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Serve:
    """Runs the command on a machine without GPU, model and engine: exit code, stdout, stderr."""
    for name in ("AGENTWORLD_API_KEY", "AGENTWORLD_SERVE_ENVIRONMENT", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def run(*arguments: str, **variables: str) -> tuple[int, str, str]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as left:
            main(["serve", *arguments])
        said = capsys.readouterr()
        return int(str(left.value.code)), said.out, said.err

    return run


def test_a_dry_run_prints_what_would_be_run_and_what_is_missing(serve: Serve) -> None:
    code, out, err = serve("--dry-run", "--tensor-parallel-size", "2", "--", "--seed", "1")
    assert code == 0
    *shown, command = out.splitlines()
    assert shown == [
        *("DO_NOT_TRACK=1", "VLLM_NO_USAGE_STATS=1"),
        f"PATH={Path(sys.executable).parent}:$PATH",
    ]
    words = shlex.split(command)
    assert words[:3] == [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    assert words[-2:] == ["--seed", "1"]
    assert "warning: no GPU was found" in err
    assert "missing: vLLM is not installed in" in err


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_dry_run_never_shows_the_key(serve: Serve, engine: str) -> None:
    code, out, err = serve("--dry-run", "--engine", engine, AGENTWORLD_API_KEY="sk-secret")
    assert code == 0
    assert "sk-secret" not in out + err
    assert "_API_KEY=***" in out


def test_everything_that_is_missing_is_said_at_once(serve: Serve) -> None:
    code, out, err = serve()
    assert (code, out) == (2, "")
    assert "warning: no GPU was found" in err
    assert "vLLM is not installed in" in err
    assert "`--dry-run` shows what would be run." in err


def test_it_says_what_clients_want_and_becomes_the_server(
    fake_environment: MakeEnvironment, tiny_model: Path
) -> None:
    command = [str(Path(sys.executable).with_name("agentworld")), "serve", "--model", tiny_model]
    command += ["--environment", fake_environment(), "--port", str(free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        url, model = (process.stdout.readline().split("=")[1].strip() for _ in range(2))
        assert first == f"{tiny_model} will answer at {url}. Clients want:\n"
        assert model == str(tiny_model)
        server, worker = healthy(url)["pids"]
        os.kill(worker, signal.SIGKILL)
        assert server == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM


def test_clients_of_the_pocket_model_are_told_its_prompts(
    serve: Serve, fake_environment: MakeEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def become(program: str, argv: tuple[str, ...], variables: dict[str, str]) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", program)

    monkeypatch.setattr(os, "execvpe", become)
    folder = fake_environment()
    code, out, err = serve("--pocket", "--environment", str(folder))
    url, model, prompts = out.splitlines()[1:]
    assert url == "export AGENTWORLD_MODEL_URL=http://127.0.0.1:8000/v1"
    assert model == "export AGENTWORLD_MODEL=pocket-world"
    assert prompts.startswith("export AGENTWORLD_PROMPTS=/")
    assert prompts.endswith("/fixtures/pocket-world/prompts")
    # What could not be started is a mistake in what was named.
    assert (code, err) == (2, f"agentworld: {folder}/bin/python: Permission denied.\n")


def healthy(url: str) -> dict[str, list[int]]:
    """What the server says of itself, once it is there."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return httpx2.get(url, trust_env=False).json()
        except httpx2.ConnectError:
            assert time.monotonic() < deadline


def test_a_model_of_an_unknown_kind_is_served_with_a_warning(
    serve: Serve, tiny_model: Path
) -> None:
    tiny_model.joinpath("config.json").write_text('{"model_type": "llama"}')
    named = ("--", "--reasoning-parser", "deepseek_r1")
    assert "no reasoning parser is set" in serve("--dry-run", "--model", str(tiny_model))[2]
    _, _, err = serve("--dry-run", "--model", str(tiny_model), *named)
    assert "no reasoning parser is set" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "./none"), "there is no folder './none'"),
        (("Qwen/Other",), "The model is named with --model"),
        (("--engine", "ollama"), "'ollama' is not one of 'vllm', 'sglang'"),
        (("--tensor-paralel-size", "2"), "No such option '--tensor-paralel-size'"),
        (("--port", "0"), "is not in the range"),
    ],
)
def test_wrong_arguments_say_what_is_right(
    serve: Serve, arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = serve(*arguments)
    assert (code, out) == (2, "")
    assert said in err
