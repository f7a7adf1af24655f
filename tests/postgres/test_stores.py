"""The suites of every store, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentworld_sim import PostgresStore, WorldStore
from tests.store.kept_stores_suite import *
from tests.store.stores_suite import *


@pytest.fixture
def store(where: str) -> Iterator[WorldStore]:
    made = PostgresStore(where)
    yield made
    made.close()
