"""A real PostgreSQL server for the tests of this folder, which only `make test-postgres` runs."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.postgres.server import PostgresServer, running

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """The server, for the whole session."""
    with running() as server:
        yield server


@pytest.fixture
def where(postgres: PostgresServer) -> str:
    """The URL of an empty store of its own."""
    return postgres.url(schema=postgres.new_schema())
