"""The rules of the house that a reader cannot see at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = {
    "agentworld_sim": ROOT / "agentworld_sim",
    "agentworld_mcp_shim": ROOT / "mcp_shim" / "agentworld_mcp_shim",
    "agentworld_graphs": ROOT / "graphs" / "agentworld_graphs",
    "agentworld_fixtures": ROOT / "fixtures" / "agentworld_fixtures",
    "agentworld_trainers": ROOT / "trainers" / "agentworld_trainers",
}

FRAMEWORKS = {"langchain", "langchain_core", "langgraph", "mcp", "pytest", "torch", "deepagents"}
"""What the core must not know of."""

LINES = 600
"""A file that is longer wants to be split."""

TEST_LINES = 800


def modules(package: str) -> list[Path]:
    return sorted(PACKAGES[package].rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    """Top-level names of everything a file imports, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_build_on_the_core_and_never_on_each_other(package: str) -> None:
    allowed = {package, "agentworld_sim"}
    if package == "agentworld_fixtures":
        # The pytest plugin may bring the other two up, inside a fixture.
        allowed |= {"agentworld_graphs", "agentworld_mcp_shim"}
    wrong = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in modules(package)
        for name in imported(file)
        if name in PACKAGES and name not in allowed
    }
    assert wrong == set()


def test_the_core_knows_no_framework() -> None:
    wrong = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in modules("agentworld_sim")
        for name in imported(file)
        if name in FRAMEWORKS
    }
    assert wrong == set()


def test_container_folders_are_no_packages() -> None:
    assert [
        folder
        for folder in ("mcp_shim", "graphs", "fixtures", "trainers")
        if (ROOT / folder / "__init__.py").exists()
    ] == []


def test_files_stay_small() -> None:
    long = {
        str(file.relative_to(ROOT)): lines
        for file in [*ROOT.glob("*/**/*.py")]
        if not any(part.startswith(".") for part in file.relative_to(ROOT).parts)
        and file.relative_to(ROOT).parts[0] != "build"
        and (lines := len(file.read_text(encoding="utf-8").splitlines()))
        > (TEST_LINES if "tests" in file.parts else LINES)
    }
    assert long == {}


def packages_with_names() -> list[str]:
    """Every package of ours that says what is public in it."""
    return [
        ".".join((package, *file.parent.relative_to(folder).parts))
        for package, folder in PACKAGES.items()
        for file in sorted(folder.rglob("__init__.py"))
        if "__all__" in file.read_text(encoding="utf-8")
    ]


@pytest.mark.parametrize("package", packages_with_names())
def test_public_names_are_those_that_were_decided_on(package: str) -> None:
    listed = (Path(__file__).parent / "public_names.txt").read_text(encoding="utf-8").split()
    decided = [line.partition(":")[2] for line in listed if line.partition(":")[0] == package]
    assert sorted(getattr(import_module(package), "__all__", [])) == decided


@pytest.mark.parametrize(
    "package", [one for one in packages_with_names() if not one.startswith("agentworld_trainers")]
)
def test_public_names_are_there(package: str) -> None:
    # Some are imported when they are first asked for: a name that moved would show only then.
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
