"""A real vLLM on the CPU for the tests of this folder, which only `make test-vllm` runs.

Whoever asks for the whole suite does not get them: they need an environment of their own, of 3.4 GB.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from tests.vllm.server import VllmServer, serve

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def vllm_server() -> Generator[VllmServer]:
    """The tiny model, served for the whole session."""
    with serve() as server:
        yield server


@pytest.fixture
def http(vllm_server: VllmServer) -> Generator[httpx2.Client]:
    """A plain client with the key, for looking at what the server really says."""
    headers = {"Authorization": f"Bearer {vllm_server.api_key}"}
    with httpx2.Client(base_url=vllm_server.root, headers=headers, timeout=120) as client:
        yield client
