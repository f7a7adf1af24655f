"""Scenarios that installed packages bring along.

A package announces them with an entry point in the group `agentworld.scenarios` that names a module;
its `SCENARIOS: Path` is a directory of `<name>.yaml` files and `<name>/scenario.yaml` folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from agentworld_sim.errors import ScenarioError

GROUP = "agentworld.scenarios"
FILE_NAMES = ("scenario.yaml", "scenario.yml", "scenario.json")


def shipped_scenarios() -> dict[str, Path]:
    """The scenario files of all installed packages, by name.

    Raises:
        ScenarioError: a package's entry point does not work, or two packages use one name.
    """
    found: dict[str, Path] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        for name, path in _scenarios_in(_directory(point)):
            first = found.setdefault(name, path)
            if first.resolve() != path.resolve():
                raise ScenarioError(
                    f"two installed packages ship a scenario named {name!r}: {first} and {path}. "
                    "Uninstall one of them, or load the file by its path."
                )
    return dict(sorted(found.items()))


def _directory(point: EntryPoint) -> Path:
    package = point.dist.name if point.dist else "an installed package"
    try:
        module = point.load()
    except Exception as error:
        raise ScenarioError(
            f"the scenarios of {package!r} cannot be listed: {point.value!r} failed to import "
            f"({type(error).__name__}: {error}). Reinstall or remove the package."
        ) from error
    directory = getattr(module, "SCENARIOS", None)
    if not isinstance(directory, Path) or not directory.is_dir():
        raise ScenarioError(
            f"the scenarios of {package!r} cannot be listed: {point.value}.SCENARIOS is "
            f"{directory!r}, not the Path of a directory. Reinstall or remove the package."
        )
    return directory


def _scenarios_in(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.iterdir()):
        if path.suffix == ".yaml" and path.is_file():
            yield path.stem, path
        elif (path / "scenario.yaml").is_file():
            yield path.name, path / "scenario.yaml"
