"""For all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_settings_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model or a store that the developer has set up must not serve the tests."""
    for name in (
        "AGENTWORLD_MODEL_URL",
        "AGENTWORLD_MODEL",
        "AGENTWORLD_API_KEY",
        "AGENTWORLD_STORE",
    ):
        monkeypatch.delenv(name, raising=False)
