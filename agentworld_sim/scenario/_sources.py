"""Where scenarios are found: files, folders, and what installed packages ship."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from agentworld_sim.errors import ScenarioError, nearest
from agentworld_sim.registry import Registry

FILE_NAMES = ("scenario.yaml", "scenario.yml", "scenario.json")

TASK_FILES = ("task.toml", "task.yaml")
"""What makes a folder a task for a container."""


def _scenario_folder(module: object) -> Path:
    folder = getattr(module, "SCENARIOS", None)
    if not isinstance(folder, Path) or not folder.is_dir():
        raise TypeError(f"SCENARIOS is {folder!r}, not the Path of a directory")
    return folder


scenario_folders = Registry[Path](
    "agentworld.scenarios", what="collection of scenarios", builtin=dict, read=_scenario_folder
)
"""The folders of scenarios that packages ship."""


def shipped_scenarios() -> dict[str, Path]:
    """The scenario files of all installed packages, by name.

    Raises:
        UsageError: a package's entry point does not work, or two packages use one name.
    """
    found: dict[str, Path] = {}
    for package in scenario_folders.names():
        for name, path in _scenarios_in(scenario_folders.get(package)):
            first = found.setdefault(name, path)
            if first.resolve() != path.resolve():
                raise ScenarioError(
                    f"two installed packages ship a scenario named {name!r}: {first} and {path}. "
                    "Uninstall one of them, or load the file by its path."
                )
    return dict(sorted(found.items()))


def _scenarios_in(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.iterdir()):
        if path.suffix == ".yaml" and path.is_file():
            yield path.stem, path
        elif (path / "scenario.yaml").is_file():
            yield path.name, path / "scenario.yaml"


def find_scenario(path: str | os.PathLike[str]) -> Path:
    """The file of a scenario: the path itself, what a folder has, or a shipped one.

    Raises:
        ScenarioError: there is none.
    """
    file = Path(path)
    if file.is_dir():
        for name in (*FILE_NAMES, *TASK_FILES):
            if (file / name).is_file():
                return file / name
    elif file.is_file():
        return file
    shipped = shipped_scenarios()
    if isinstance(path, str) and path in shipped:
        return shipped[path]
    listed = f"Shipped scenarios: {', '.join(shipped) or 'none'}."
    if file.is_dir():
        raise ScenarioError(
            f"the folder {str(file)!r} has no scenario.yaml. To make a world of its files, use "
            f"Scenario.from_directory. {listed}"
        )
    if file.exists():
        raise ScenarioError(f"{str(file)!r} is not a regular file. {listed}")
    hint = nearest(str(path), shipped) or sibling_hint(file)
    raise ScenarioError(f"there is no scenario {str(path)!r}.{hint} {listed}")


def sibling_hint(path: Path) -> str:
    """What beside a path has a name like it."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f" The folder {str(path.parent)!r} does not exist either."
    hint = nearest(path.name, names)
    return hint and f"{hint[:-1]} in {str(path.parent)!r}?"
