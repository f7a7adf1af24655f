"""A real `langgraph dev` for the tests of this folder, which only `make test-langgraph-dev` runs.

Whoever asks for the whole suite does not get them: the server lives in an environment of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.langgraph_dev.server import ROOT, DevServer, serve

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def dev_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[DevServer]:
    """The file of the clone, served for the whole session."""
    config = ROOT / "graphs" / "langgraph.json"
    with serve(config, tmp_path_factory.mktemp("dev")) as server:
        yield server


@pytest.fixture
async def client(dev_server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=dev_server.url, api_key=None) as client:
        yield client
