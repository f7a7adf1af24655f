"""Who imports whom, read from the source: also inside functions and for type checkers only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = {
    "agentworld_sim": ROOT / "agentworld_sim",
    "agentworld_mcp_shim": ROOT / "mcp_shim" / "agentworld_mcp_shim",
    "agentworld_graphs": ROOT / "graphs" / "agentworld_graphs",
    "agentworld_fixtures": ROOT / "fixtures" / "agentworld_fixtures",
    "agentworld_trainers": ROOT / "trainers" / "agentworld_trainers",
}


@dataclass(frozen=True)
class Import:
    """One name of ours that a module imports."""

    file: Path
    line: int
    importer: str
    """Dotted name of the module."""
    module: str
    """The module that is imported, or imported from."""
    name: str
    """What is imported from it; empty for the module itself."""
    in_function: bool

    @property
    def path(self) -> str:
        """Dotted name with the private name at its end, if there is one."""
        return f"{self.module}.{self.name}" if self.name.startswith("_") else self.module

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.path}"


@cache
def modules() -> dict[str, Path]:
    """Every module of ours, by dotted name."""
    return {
        ".".join((package, *file.relative_to(folder).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): file
        for package, folder in FOLDERS.items()
        for file in sorted(folder.rglob("*.py"))
    }


def imports_of(file: Path, importer: str) -> Iterator[Import]:
    """What a file imports of ours."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [
                (f"{node.module}.{alias.name}", "")
                if f"{node.module}.{alias.name}" in modules()
                else (node.module, alias.name)
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        else:
            continue
        for module, name in found:
            if module.partition(".")[0] in FOLDERS and not name.startswith("__"):
                yield Import(file, node.lineno, importer, module, name, id(node) in inside)


@cache
def product_imports() -> tuple[Import, ...]:
    """What the five packages import of each other and of themselves."""
    return tuple(one for name, file in modules().items() for one in imports_of(file, name))


def package_of(module: str) -> str:
    """Whose private parts a module may use: one of the five packages, or a subpackage of the core."""
    head, *rest = module.split(".")
    if head == "agentworld_sim" and rest and (FOLDERS[head] / rest[0]).is_dir():
        return f"{head}.{rest[0]}"
    return head


def is_private(path: str) -> bool:
    """Whether a part of a dotted name begins with an underscore."""
    return any(part.startswith("_") and not part.startswith("__") for part in path.split("."))
