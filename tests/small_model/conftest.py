"""SmolLM2-135M-Instruct behind a real vLLM on the CPU, which only `make test-small-model` runs."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.vllm.server import ROOT, VllmServer, serve

HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "small-model"


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def small_server() -> Generator[VllmServer]:
    """The model, served for the whole session."""
    with serve(
        *("--dtype", "bfloat16"), model=BUILD / "smollm2", name="smollm2", context=8192
    ) as server:
        yield server
