"""Agent frameworks in an environment of their own: only `make test-frameworks` runs this folder."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.frameworks.chat_server import ChatServer

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture
def chat_server() -> Generator[ChatServer]:
    """A server that speaks OpenAI's protocols and says what it is told to."""
    with ChatServer() as server:
        yield server


@pytest.fixture
def environment(chat_server: ChatServer) -> dict[str, str]:
    """Of a program that finds that server as it would find OpenAI's."""
    return {
        **os.environ,
        "OPENAI_BASE_URL": chat_server.url,
        "OPENAI_API_KEY": "none",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }
