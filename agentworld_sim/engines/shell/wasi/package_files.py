"""The files of the packages of a machine's Python, and the archive in the user's cache that holds them."""

from __future__ import annotations

import hashlib
from pathlib import Path

from agentworld_sim.engines.shell.wasi.archives import read_archive
from agentworld_sim.errors import UsageError
from agentworld_sim.store.home import cache_home

PYTHON = "3.12"
"""The machine's Python, for which packages are chosen."""

PACKAGES_AT = "/usr/lib/python3/dist-packages"
"""Where the scenario's packages are, read-only."""

WHEELS_AT = "/usr/share/python-wheels"
"""What the machine's pip installs from."""

PACKAGE_FOLDERS = (
    "/usr/lib/python3",
    PACKAGES_AT,
    WHEELS_AT,
    f"/usr/local/lib/python{PYTHON}",
    f"/usr/local/lib/python{PYTHON}/site-packages",
)
"""The world's own folders that come with packages; an agent's pip installs into the last."""

_PIP_CONF = (
    f"[global]\nno-index = true\nfind-links = {WHEELS_AT}\ndisable-pip-version-check = true\n"
)
"""That of a machine without network that has a folder of wheels."""

FORM = "1"
"""Counted up when an archive of the same wheels gets other files."""


def layer_path(packages: tuple[str, ...], pins: tuple[str, ...]) -> Path:
    """Where the archive of pinned packages is, if it is there."""
    name = hashlib.sha256("\n".join((FORM, *packages, "", *pins)).encode()).hexdigest()
    return cache_home() / "layers" / f"{name}.zip"


def read_layer(packages: tuple[str, ...], pins: tuple[str, ...]) -> dict[str, bytes]:
    """All files of an archive by their place in it: below `packages/`, `wheels/` and `bin/`.

    Raises:
        UsageError: it is not there, or is damaged and has been removed.
    """
    path = layer_path(packages, pins)
    layer = read_archive(path)
    if layer is None:
        path.unlink(missing_ok=True)
        raise UsageError(
            f"the machine's packages in {path.parent} cannot be read. Make or open the world again: they are built"
            " from their wheels."
        )
    return layer


def package_files(packages: tuple[str, ...], pins: tuple[str, ...]) -> dict[str, bytes]:
    """The world's own files that come with packages, by path: console scripts, and what pip is told."""
    layer = read_layer(packages, pins).items()
    scripts = {f"/usr/local/{place}": data for place, data in layer if place.startswith("bin/")}
    return {**scripts, "/etc/pip.conf": _PIP_CONF.encode()}
