"""The API line and the directions of the house."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.imports import (
    ROOT,
    Import,
    imports_of,
    is_private,
    modules,
    package_of,
    product_imports,
)

LAYERS = """
    regex plain_text errors toml whole_file _version types extras redaction schema ports registry ingest store diff llm checks
    domains
    toolkits relational engines controls imagination fiction runtime scenario sites proxy world_records world goals supports_world binding
    scoring world_spec episode cassette rollouts assembly web_proxy serving bench synthesis report testing cli
""".split()
"""The parts of the core, the lowest first: each imports only what stands before it."""

UPWARD = ("agentworld_sim.world", "agentworld_sim.assembly")
"""The one edge that goes up, inside functions: `World.create` and `World.open` put a world together."""

OWN_TESTS = {
    "browser": "agentworld_fixtures",
    "conformance": "agentworld_mcp_shim",
    "core": "agentworld_sim",
    "fidelity": "agentworld_sim.engines",
    "fixtures_plugin": "agentworld_fixtures",
    "graphs": "agentworld_graphs",
    "langgraph_dev": "agentworld_graphs",
    "mcp": "agentworld_mcp_shim",
    "postgres": "agentworld_sim.store",
    "servers": "agentworld_mcp_shim",
    "snapshots": "agentworld_sim.engines",
    "trainers": "agentworld_trainers",
    "vllm": "agentworld_sim.serving",
}
"""Folder of tests to the package whose private parts they may look at; others are named like it."""


def doors(imports: list[Import], package: str | None = None) -> list[str]:
    """Imports of private modules and names of another package."""
    return [
        str(one)
        for one in imports
        if is_private(one.path) and package_of(one.path) != (package or package_of(one.importer))
    ]


def test_no_package_imports_the_private_parts_of_another() -> None:
    assert doors(list(product_imports())) == []


@pytest.mark.parametrize("folder", ["benchmarks", "experiments"])
def test_benchmarks_and_experiments_import_public_names(folder: str) -> None:
    for file in sorted((ROOT / folder).rglob("*.py")):
        assert doors(list(imports_of(file, folder)), folder) == []


def test_tests_look_only_into_the_package_that_they_are_about() -> None:
    wrong: list[str] = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        folder = file.relative_to(ROOT / "tests").parts[0]
        own = OWN_TESTS.get(folder, f"agentworld_sim.{folder}")
        wrong += doors(list(imports_of(file, "tests")), own)
    assert wrong == []


def test_every_part_of_the_core_imports_only_what_is_below_it() -> None:
    rank = {name: number for number, name in enumerate(LAYERS)}
    wrong: list[str] = []
    for one in product_imports():
        importer, imported = one.importer.split("."), one.module.split(".")
        if importer[0] != "agentworld_sim" or len(importer) == 1 or len(imported) == 1:
            continue
        if (one.importer, one.module) == UPWARD and one.in_function:
            continue
        if rank[imported[1]] > rank[importer[1]]:
            wrong.append(str(one))
    assert wrong == []


def test_no_circle_is_hidden_in_functions_or_behind_type_checking() -> None:
    needs: dict[str, set[str]] = {
        name: set() for name in modules() if name.startswith("agentworld_sim")
    }
    for one in product_imports():
        below_itself = one.importer.startswith(f"{one.module}.")
        if one.importer in needs and not below_itself and (one.importer, one.module) != UPWARD:
            needs[one.importer].add(one.module)
    circle: list[str] = []
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert circle == []
