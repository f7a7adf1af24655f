"""The suite of every store, in memory and on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentworld_sim import MemoryStore, SqliteStore, WorldStore
from tests.store.stores_suite import *


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorldStore]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "w.sqlite")
    yield made
    made.close()
