"""The suite of stores that outlive a process, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.kept_stores_suite import *


@pytest.fixture
def where(tmp_path: Path) -> str:
    return str(tmp_path / "w.sqlite")
