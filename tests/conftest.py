"""For all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_model_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that the developer has set up must not answer the tests."""
    for name in ("AGENTWORLD_MODEL_URL", "AGENTWORLD_MODEL", "AGENTWORLD_API_KEY"):
        monkeypatch.delenv(name, raising=False)
