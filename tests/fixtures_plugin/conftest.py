"""Test suites that use the plugin, run by a pytest in pytest."""

from __future__ import annotations

import textwrap
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import agentworld_fixtures
import agentworld_graphs
import agentworld_mcp_shim
import agentworld_sim

for package in (agentworld_fixtures, agentworld_graphs, agentworld_mcp_shim, agentworld_sim):
    for module in walk_packages(package.__path__, package.__name__ + "."):
        # A session in this process forgets what it imported. What is imported twice is not the same, and
        # C extensions cannot be.
        if not module.name.endswith(("__main__", "_relay")):
            import_module(module.name)

INI = """
[pytest]
asyncio_mode = {asyncio_mode}
asyncio_default_fixture_loop_scope = function
addopts = -p no:randomly
"""


class Suite:
    """A folder with a test suite."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.ini()

    def ini(self, *lines: str, asyncio_mode: str = "auto") -> None:
        """Writes the ini file."""
        text = INI.format(asyncio_mode=asyncio_mode) + "\n".join(lines) + "\n"
        (self.path / "pytest.ini").write_text(text, encoding="utf-8")

    def file(self, name: str, text: str) -> Path:
        """Writes a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def tests(self, text: str, name: str = "test_it.py") -> None:
        """Writes a test file."""
        self.file(name, "import pytest\n" + textwrap.dedent(text))

    def run(self, *arguments: str) -> pytest.RunResult:
        """Runs the suite in this process."""
        return self.pytester.runpytest_inprocess(*arguments)

    def run_outside(self, *arguments: str) -> pytest.RunResult:
        """Runs the suite in a process of its own."""
        return self.pytester.runpytest_subprocess(*arguments, timeout=120)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    # Outside of CI, wherever these tests run.
    monkeypatch.delenv("CI", raising=False)
    return Suite(pytester)


def said(result: pytest.RunResult) -> str:
    """Everything that a session printed."""
    return result.stdout.str() + result.stderr.str()
