"""Starts and stops the real vLLM of these tests. Nothing else here knows how it is started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

ROOT: Final = Path(__file__).resolve().parents[2]
PYTHON: Final = ROOT / ".venv-vllm" / "bin" / "python"
MODEL: Final = ROOT / "build" / "vllm" / "tiny_moe"
SCRATCH: Final = ROOT / "build" / "vllm"
START_LIMIT: Final = 300.0
STOP_LIMIT: Final = 20.0

FLAGS: Final = (
    *("--dtype", "float32", "--enforce-eager", "--max-model-len", "8192"),
    *("--reasoning-parser", "qwen3", "--enable-prefix-caching", "--block-size", "32"),
    # Without it `usage` never says how many tokens of the prompt came from the cache.
    "--enable-prompt-tokens-details",
    # On a CPU, a request with a seed whose prompt is split over two steps kills vLLM 0.32.0
    # ("CPU Generator does not use offset"), so no prompt is ever split.
    *("--no-enable-chunked-prefill", "--max-num-batched-tokens", "16384"),
    *("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}'),
)


@dataclass(frozen=True)
class VllmServer:
    """A running server."""

    root: str
    """Its address, without `/v1`."""
    model: str
    """The name under which the model is served."""
    api_key: str
    log: Path
    """What it has printed."""

    @property
    def url(self) -> str:
        """The address that OpenAI clients want."""
        return f"{self.root}/v1"


def environment(api_key: str) -> dict[str, str]:
    """No network, no usage reports, and every cache inside the clone."""
    caches = {
        name: str(SCRATCH / "cache" / name.lower())
        for name in ("VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "HF_HOME", "TORCHINDUCTOR_CACHE_DIR")
    }
    return {
        **os.environ,
        **caches,
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        # The first request with a grammar would otherwise wait half a minute for a C++ compiler.
        "TORCHDYNAMO_DISABLE": "1",
        # In the environment, because everyone on the machine can read a command line.
        "VLLM_API_KEY": api_key,
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(*extra: str, api_key: str = "key-of-the-tests") -> Generator[VllmServer]:
    """Serves the tiny model on the loopback interface until the block ends.

    `extra` flags come last and so win over the usual ones.
    """
    for path in (PYTHON, MODEL / "config.json"):
        if not path.exists():
            raise RuntimeError(f"{path.relative_to(ROOT)} is missing: run `make test-vllm`")
    port = free_port()
    log = SCRATCH / f"server-{port}.log"
    command = [
        *(str(PYTHON), "-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL)),
        *("--served-model-name", "tiny", "--host", "127.0.0.1", "--port", str(port)),
        *FLAGS,
        *extra,
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env=environment(api_key),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        server = VllmServer(f"http://127.0.0.1:{port}", "tiny", api_key, log)
        wait_until_healthy(server, process, command)
        yield server
    finally:
        stop(process)


def wait_until_healthy(
    server: VllmServer, process: subprocess.Popen[bytes], command: Sequence[str]
) -> None:
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if httpx2.get(f"{server.root}/health", timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.5)
    ended = f"ended with {process.returncode}" if process.poll() is not None else "is not healthy"
    tail = "\n".join(server.log.read_text(errors="replace").splitlines()[-40:])
    raise RuntimeError(f"vLLM {ended}\n$ {' '.join(command)}\n{tail}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the server and the engine and worker processes that it started."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_LIMIT)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
