"""A model server as processes: what it is given, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.serving import (
    ModelServer,
    ServerFailure,
    ServerOptions,
    build_command,
    find_weights,
    serve,
)
from agentworld_sim.serving._serve import free_port

MakeEnvironment = Callable[..., Path]
Gone = Callable[[list[int]], bool]


def seen_by(server: ModelServer, key: str | None = None) -> dict[str, Any]:
    """What the server says it was started with."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.get(server.url, headers=headers, trust_env=False).json()


def command_for(model: Path, environment: Path, engine: Any = "vllm", **options: Any) -> Any:
    asked = ServerOptions(model=str(model), engine=engine, port=free_port(), **options)
    return build_command(
        asked, python=environment / "bin" / "python", weights=find_weights(asked.model)
    )


def test_a_served_model_answers_and_nothing_is_left_of_it(
    fake_environment: MakeEnvironment, tiny_model: Path, gone: Gone
) -> None:
    with serve(
        tiny_model,
        environment=fake_environment(),
        served_model_name="tiny",
        extra=["--dtype", "float32", "--enforce-eager", "--block-size", "32"],
    ) as server:
        seen = seen_by(server)
        assert server.model == "tiny"
    assert seen["arguments"] == [
        *("--model", str(tiny_model), "--host", "127.0.0.1", "--port", str(server.command.port)),
        *("--served-model-name", "tiny", "--reasoning-parser", "qwen3"),
        *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
        "--no-enable-chunked-prefill",
        *("--dtype", "float32", "--enforce-eager", "--block-size", "32"),
    ]
    assert seen["environment"]["DO_NOT_TRACK"] == seen["environment"]["VLLM_NO_USAGE_STATS"] == "1"
    assert gone(seen["pids"])


def test_programs_of_the_environment_are_on_the_path_of_its_server(
    fake_environment: MakeEnvironment, tiny_model: Path
) -> None:
    folder = fake_environment()
    with serve(tiny_model, environment=folder) as server:
        assert seen_by(server)["environment"]["PATH"].split(os.pathsep)[0] == str(folder / "bin")


def test_a_server_that_does_not_listen_is_killed_with_its_workers(
    fake_environment: MakeEnvironment, tiny_model: Path, gone: Gone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "deaf")
    with ModelServer(command_for(tiny_model, fake_environment()), grace=0.1) as server:
        pids = seen_by(server)["pids"]
    assert gone(pids)


def test_a_server_that_dies_later_takes_its_workers_along(
    fake_environment: MakeEnvironment, tiny_model: Path, gone: Gone
) -> None:
    with ModelServer(command_for(tiny_model, fake_environment())) as server:
        pids = seen_by(server)["pids"]
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(f"{server.command.root_url}/die", trust_env=False)
        with pytest.raises(ServerFailure, match=r"ended \(exit code 9\)"):
            server.join()
        assert gone(pids)


def test_the_server_does_not_outlive_a_process_that_was_killed(
    fake_environment: MakeEnvironment, tiny_model: Path, gone: Gone
) -> None:
    program = (
        "import sys\n"
        "from agentworld_sim.serving import serve\n"
        "with serve(sys.argv[1], environment=sys.argv[2]) as server:\n"
        "    print(server.url, flush=True)\n"
        "    server.join()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tiny_model), str(fake_environment())],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        pids = httpx2.get(url, trust_env=False).json()["pids"]
        process.kill()
    assert gone(pids)


@pytest.mark.promise("key-stays-secret")
def test_a_key_reaches_vllm_through_the_environment_only(
    fake_environment: MakeEnvironment, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-secret")
    with serve(tiny_model, environment=fake_environment()) as server:
        seen = seen_by(server, "sk-secret")
        lines = Path(f"/proc/{seen['pids'][0]}/cmdline").read_bytes()
        assert httpx2.get(f"{server.url}/models", trust_env=False).status_code == 401
    assert b"sk-secret" not in lines
    assert "sk-secret" not in repr(server.command)
    assert seen["environment"]["VLLM_API_KEY"] == "sk-secret"
    assert "AGENTWORLD_API_KEY" not in seen["environment"]


@pytest.mark.promise("key-stays-secret")
def test_a_key_reaches_sglang_through_a_private_file_and_stays_out_of_the_log(
    fake_environment: MakeEnvironment,
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", 'sk-"se\\cret')
    environment = fake_environment(distribution="sglang 0.5.23")
    command = command_for(tiny_model, environment, "sglang")
    with ModelServer(command, log_file=tmp_path / "logs" / "server.log") as server:
        seen = seen_by(server, 'sk-"se\\cret')
        assert not Path(seen["arguments"][1]).exists()
    assert seen["arguments"][0] == "--config"
    assert "cret" not in json.dumps(seen["arguments"])
    assert server.log[0] == "server_args=ServerArgs(api_key='***') 0o600"
    log = tmp_path / "logs" / "server.log"
    assert "cret" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_start_is_told_in_phases(
    fake_environment: MakeEnvironment, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        "INFO [gpu_model_runner.py:1] Starting to load model ...",
        "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:00<00:00,  1.25it/s]",
        "INFO [backends.py:1] Dynamo bytecode transform time: 3.54 s",
        "Capturing CUDA graphs (decode, FULL):  10%|",
        "INFO [kv_cache_utils.py:1] GPU KV cache size: 1,815,552 tokens",
        "INFO:     Application startup complete.",
    ]
    monkeypatch.setenv("FAKE_LOG", json.dumps(said))
    phases: list[str] = []
    with ModelServer(command_for(tiny_model, fake_environment()), on_phase=phases.append) as server:
        pass
    assert phases == [
        *("loading weights", "loading weights 50 %", "compiling", "capturing CUDA graphs"),
        *("cache for 1,815,552 tokens", "started"),
    ]
    assert server.log == said


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate", "GPU memory"),
        (
            (
                "ValueError: To serve at least one request with the models's max seq len (262144),"
                " 5.0 GiB KV cache is needed, which is larger than the available KV cache memory"
            ),
            "--max-model-len",
        ),
        ("api_server.py: error: unrecognized arguments: --langage-model-only", "the flags"),
        (
            (
                "ValueError: Following weights were not initialized from checkpoint:"
                " {'visual.blocks.12.norm2.bias'}"
            ),
            "--language-model-only",
        ),
        ("OSError: [Errno 98] Address already in use", "--port"),
        ("RuntimeError: Failed to infer device type, please set the environment", "nvidia-smi"),
        ("OSError: [Errno 28] No space left on device", "HF_HOME"),
    ],
)
def test_a_server_that_dies_at_the_start_tells_its_last_words_and_what_to_do(
    fake_environment: MakeEnvironment,
    tiny_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    hint: str,
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "dies")
    monkeypatch.setenv("FAKE_LOG", json.dumps(["starting", line]))
    server = ModelServer(command_for(tiny_model, fake_environment()))
    with pytest.raises(ServerFailure) as raised, server:
        pass
    text = str(raised.value)
    assert "ended before it was healthy (exit code 3)" in text
    assert line in text
    assert hint in text.rpartition(line)[2]


def test_a_server_that_never_becomes_healthy_is_stopped(
    fake_environment: MakeEnvironment, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "never")
    monkeypatch.setenv("FAKE_LOG", '["waiting for weights"]')
    server = ModelServer(command_for(tiny_model, fake_environment()), timeout=2)
    with pytest.raises(ServerFailure, match=r"not healthy within 2 s") as raised, server:
        pass
    assert "waiting for weights" in str(raised.value)


def test_an_interpreter_that_is_not_there_is_a_failure_with_its_name(tiny_model: Path) -> None:
    server = ModelServer(command_for(tiny_model, Path("/nowhere")))
    with pytest.raises(ServerFailure, match="/nowhere/bin/python: No such file"), server:
        pass


def test_a_port_in_use_is_said_before_anything_is_started(
    fake_environment: MakeEnvironment, tiny_model: Path
) -> None:
    environment = fake_environment()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(UsageError, match=rf"127\.0\.0\.1:{port} cannot be listened on"),
            serve(tiny_model, environment=environment, port=port),
        ):
            pass


def test_a_signal_ends_the_patience_with_a_deaf_server(
    fake_environment: MakeEnvironment, tiny_model: Path, gone: Gone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "deaf")
    server = ModelServer(command_for(tiny_model, fake_environment()), grace=600)
    server.start()
    server.wait_until_healthy()
    pids = seen_by(server)["pids"]
    guard = server._process  # pyright: ignore[reportPrivateUsage]
    assert guard is not None and guard.stdin is not None
    guard.stdin.close()
    while guard.poll() is None:
        guard.send_signal(signal.SIGTERM)
    assert gone(pids)
    server.stop()
