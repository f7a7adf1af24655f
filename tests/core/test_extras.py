"""Optional packages that are missing are named, with the command that installs them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentworld_sim import UsageError
from agentworld_sim.extras import require


def test_an_installed_module_is_given() -> None:
    assert require("json.decoder", extra="mcp").__name__ == "json.decoder"


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(UsageError) as raised:
        require("no_such_package_here.part", extra="graphs")
    assert str(raised.value) == (
        "this needs the package 'no_such_package_here', which is not installed. Install it with"
        " `pip install 'agentworld-sim[graphs]'`."
    )


def test_a_broken_installation_is_not_called_a_missing_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package.py").write_text("import a_dependency_that_is_gone\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ModuleNotFoundError, match="a_dependency_that_is_gone"):
        require("broken_package", extra="mcp")
