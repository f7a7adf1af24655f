"""For the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cassette.lab import Studio


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path / "cassettes" / "test_it.yaml")
