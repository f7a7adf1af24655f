"""Starts and stops the real vLLM of these tests, with the flags that `agentworld serve` gives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final
from unittest.mock import patch

import httpx2
import pytest

from agentworld_sim import serving

ROOT: Final = Path(__file__).resolve().parents[2]
ENVIRONMENT: Final = ROOT / ".venv-vllm"
MODEL: Final = ROOT / "build" / "vllm" / "tiny_moe"
SCRATCH: Final = ROOT / "build" / "vllm"
AGENTWORLD: Final = str(Path(sys.executable).with_name("agentworld"))
CONTEXT: Final = 8192
START_LIMIT: Final = 300.0
KEY: Final = "key-of-the-tests"

EXTRA: Final = (
    *("--dtype", "float32", "--enforce-eager"),
    # The CPU's own is 128: too coarse to see a short turn come from the cache.
    *("--block-size", "32"),
    # The tiny model would fill a grammar's optional white space until its limit.
    *("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}'),
)
"""What the tests want beside our own flags."""


@dataclass(frozen=True)
class VllmServer:
    """A running server."""

    root: str
    """Its address, without `/v1`."""
    model: str
    """The name under which the model is served."""
    api_key: str

    @property
    def url(self) -> str:
        """The address that OpenAI clients want."""
        return f"{self.root}/v1"


def variables(api_key: str = KEY) -> dict[str, str]:
    """No network, no usage reports, every cache inside the clone, and the key."""
    caches = {
        name: str(SCRATCH / "cache" / name.lower())
        for name in ("VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "HF_HOME", "TORCHINDUCTOR_CACHE_DIR")
    }
    return {
        **caches,
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        # The first request with a grammar would otherwise wait half a minute for a C++ compiler.
        "TORCHDYNAMO_DISABLE": "1",
        "AGENTWORLD_API_KEY": api_key,
    }


@contextmanager
def serve(
    *extra: str,
    api_key: str = KEY,
    model: Path = MODEL,
    name: str = "tiny",
    context: int = CONTEXT,
) -> Generator[VllmServer]:
    """Serves the tiny model, or another one, on the loopback interface until the block ends.

    `extra` flags come last and so win over the usual ones.
    """
    for path in (ENVIRONMENT, model / "config.json"):
        if not path.exists():
            raise RuntimeError(f"{path.relative_to(ROOT)} is missing: run `make test-vllm`")
    with ExitStack() as stack:
        # Only the server is to see them: clients of these tests are given the key by hand.
        with patch.dict(os.environ, variables(api_key)):
            served = stack.enter_context(
                serving.serve(
                    serving.ServerOptions(
                        model=str(model),
                        port=serving.free_port(),
                        served_model_name=name,
                        max_model_len=context,
                        extra=(*EXTRA, *extra),
                    ),
                    environment=ENVIRONMENT,
                    timeout=START_LIMIT,
                )
            )
        yield VllmServer(served.root_url, served.model, api_key)


@contextmanager
def serve_by_command(
    home: Path, *options: str
) -> Generator[tuple[subprocess.Popen[str], str, str]]:
    """A running `agentworld serve` of the tiny model, and the URL and model that it prints."""
    command = [AGENTWORLD, "serve", "--model", str(MODEL), "--environment", str(ENVIRONMENT)]
    command += ["--port", str(serving.free_port()), "--max-model-len", str(CONTEXT), *options]
    with subprocess.Popen(
        [*command, "--", *EXTRA],
        env={**os.environ, **variables(), "AGENTWORLD_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert " will answer at http://127.0.0.1:" in process.stdout.readline()
            url, model = (process.stdout.readline().split("=", 1)[1].strip() for _ in range(2))
            # What follows is the server's log; nobody reads it, so it must not fill the pipe.
            Thread(target=process.stdout.read, daemon=True).start()
            wait_until_healthy(process, url.removesuffix("/v1"))
            yield process, url, model
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until_healthy(process: subprocess.Popen[Any], root: str) -> None:
    """Returns when the server answers; fails when it ends or takes too long."""
    deadline = time.monotonic() + START_LIMIT
    while True:
        with suppress(httpx2.HTTPError):
            if httpx2.get(f"{root}/health").status_code == 200:
                return
        assert time.monotonic() < deadline
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the server ended with {process.wait(0.25)}")
