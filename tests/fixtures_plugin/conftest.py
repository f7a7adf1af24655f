"""Test suites that use the plugin, run by a pytest in pytest."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
from _pytest.pytester import SysModulesSnapshot

INI = """
[pytest]
asyncio_mode = {asyncio_mode}
asyncio_default_fixture_loop_scope = function
addopts = -p no:randomly
"""


PLUGINS = ("agentworld", "asyncio", "xdist")


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
        try:
            return self.pytester.runpytest_inprocess(*arguments)
        finally:
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", "")).startswith(str(self.path)):
                    del sys.modules[name]

    def run_outside(self, *arguments: str) -> pytest.RunResult:
        """Runs the suite in a process of its own, with the plugins that are named here and no others: many
        take seconds to load."""
        named = [word for name in PLUGINS for word in ("-p", name)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return self.pytester.runpytest_subprocess(*named, *arguments, timeout=120)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    # pytest would forget all that the session in this process imported. What is then imported again is
    # not the same, and C extensions cannot be.
    monkeypatch.setattr(SysModulesSnapshot, "restore", _nothing)
    # Outside of CI, wherever these tests run.
    monkeypatch.delenv("CI", raising=False)
    return Suite(pytester)


def _nothing(_: SysModulesSnapshot) -> None:
    """In place of `restore`."""


def said(result: pytest.RunResult) -> str:
    """Everything that a session printed."""
    return result.stdout.str() + result.stderr.str()
