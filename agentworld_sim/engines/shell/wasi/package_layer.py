"""The packages of a machine's Python, as Debian lays them out: `/usr/lib/python3/dist-packages`, read-only and shared
by all worlds, and the wheels that its pip installs from.

A layer is built once from wheels, compiled by the machine's own Python, and kept in the user's cache under a hash of
what is in it. The scenario of a world names every wheel by its hash, so the same scenario is the same machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from random import Random
from zipfile import BadZipFile, ZipFile, ZipInfo

from bashkit import FileSystem

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.file_times import TurnClock, set_times
from agentworld_sim.engines.shell.image import INSTALLED_US, empty_files, system_mounts
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.wasi.wheels import PYTHON, Wheel, needed_wheels, wheels_in
from agentworld_sim.errors import EngineFailure, UsageError
from agentworld_sim.store.home import cache_home

PACKAGES_AT = "/usr/lib/python3/dist-packages"
WHEELS_AT = "/usr/share/python-wheels"
SITE_AT = f"/usr/local/lib/python{PYTHON}/site-packages"
SCRIPTS_AT = "/usr/local/bin"

PIP_CONF = (
    f"[global]\nno-index = true\nfind-links = {WHEELS_AT}\ndisable-pip-version-check = true\n"
)
"""`/etc/pip.conf` of a machine without network that has a folder of wheels."""

FORM = "1"
"""Counted up when a layer of the same wheels gets other files."""

SCRIPT = """\
#!/usr/bin/python3
# -*- coding: utf-8 -*-
import re
import sys
from {module} import {first}
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit({call}())
"""
"""What pip writes for a console script."""

ADD = "Get them with: agentworld machine packages add"


def user_wheels() -> Path:
    """The folder of this user's wheels."""
    return cache_home() / "wheels"


def pinned_packages(
    packages: tuple[str, ...], folder: Path | None = None, pins: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a scenario asks for, as `NAME==VERSION` of all that is installed and the pins of all wheels, and their
    layer in the cache.

    pip is always among them. What is pinned already stays as it is.

    Args:
        folder: All wheels in it are on the machine for its pip. Without one, the packages are taken from the
            user's wheels.
        pins: Of the wheels, where they are pinned.

    Raises:
        UsageError: a wheel is missing, broken, cannot be used or has another content than the pin says.
    """
    if pins and folder is None:
        return packages, pins
    there = wheels_in(folder or user_wheels())
    installed = needed_wheels([*packages, "pip"], there)
    offered = there if folder else installed
    found = tuple(f"{one.name}=={one.version}" for one in installed), tuple(o.pin for o in offered)
    if not (path := _path(*found)).exists():
        _write(path, _layer(found[0], offered))
    return found


def _path(packages: tuple[str, ...], pins: tuple[str, ...]) -> Path:
    name = hashlib.sha256("\n".join((FORM, *packages, "", *pins)).encode()).hexdigest()
    return cache_home() / "layers" / f"{name}.zip"


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(".building", path.stem, path.parent)
        with os.fdopen(handle, "wb") as file, ZipFile(file, "w") as archive:
            for place, content in files.items():
                archive.writestr(ZipInfo(place), content)
        # Whole or not at all: other processes build the same file.
        os.replace(beside, path)
    except OSError as error:
        raise UsageError(
            f"the packages cannot be kept in {path.parent}: {error}. Name a folder that can be written:"
            " AGENTWORLD_HOME."
        ) from error


def _read(path: Path) -> dict[str, bytes]:
    with ZipFile(path) as archive:
        return {place: archive.read(place) for place in archive.namelist()}


def _pinned_wheels(pins: Sequence[str]) -> list[Wheel]:
    """The user's wheels with these names and contents."""
    found = {one.path.name: one for one in wheels_in(user_wheels())}
    missing = [
        Wheel.at(Path(p.partition("#")[0])) for p in pins if p.partition("#")[0] not in found
    ]
    if missing:
        names = " ".join(f"{one.name}=={one.version}" for one in missing)
        raise UsageError(f"wheels of the machine are not on this host. {ADD} {names}")
    for pin in pins:
        if (one := found[pin.partition("#")[0]]).pin != pin:
            raise UsageError(
                f"{one.path} has another content than the scenario's {one.path.name}. Remove it, and get the one"
                f" that the scenario was made with."
            )
    return [found[pin.partition("#")[0]] for pin in pins]


def _layer(packages: Sequence[str], wheels: Sequence[Wheel]) -> dict[str, bytes]:
    """All files of a layer by their place in it: below `packages/`, `wheels/` and `bin/`."""
    files: dict[str, bytes] = {}
    for wheel in wheels:
        if f"{wheel.name}=={wheel.version}" in packages:
            files |= installed_files(wheel)
    sources = {name: data for name, data in files.items() if name.startswith("packages/")}
    files |= compiled_sources(sources)
    files |= {f"wheels/{wheel.path.name}": wheel.data for wheel in wheels}
    return dict(sorted(files.items()))


def installed_files(wheel: Wheel) -> dict[str, bytes]:
    """What an installed wheel is on the machine, except compiled modules."""
    info = wheel.info
    data_folder = f"{info.removesuffix('.dist-info')}.data/"
    files: dict[str, bytes] = {}
    for name, data in wheel.files.items():
        if not name.startswith(data_folder):
            files[f"packages/{name}"] = data
            continue
        scheme, _, rest = name.removeprefix(data_folder).partition("/")
        if scheme in ("purelib", "platlib"):
            files[f"packages/{rest}"] = data
        elif scheme == "scripts":
            files[f"bin/{rest}"] = re.sub(rb"\A#!pythonw?", b"#!/usr/bin/python3", data)
    for name, place in wheel.console_scripts.items():
        module, _, call = place.partition("[")[0].strip().partition(":")
        script = SCRIPT.format(module=module, first=call.partition(".")[0], call=call)
        # pip names one of its own after the Python that it is installed for.
        files[f"bin/{re.sub('^pip3[.].*', f'pip{PYTHON}', name)}"] = script.encode()
    # As packages of Debian are: pip tells that they are not its own, and lets them stand.
    files.pop(f"packages/{info}/RECORD", None)
    files[f"packages/{info}/INSTALLER"] = b"debian\n"
    return files


@dataclass(frozen=True)
class PackageLayer:
    """The packages of a machine."""

    mounts: Mapping[str, FileSystem]
    """Read-only file systems by mount point."""
    files: Mapping[str, bytes]
    """The world's own files that come with them, by path."""

    folders = (
        "/usr/lib/python3",
        PACKAGES_AT,
        WHEELS_AT,
        f"/usr/local/lib/python{PYTHON}",
        SITE_AT,
    )
    """The world's own folders that come with them; an agent's pip installs into the last."""


@lru_cache(maxsize=8)
def package_layer(packages: tuple[str, ...], pins: tuple[str, ...]) -> PackageLayer:
    """The layer of pinned packages, one for all worlds of this process.

    Raises:
        UsageError: it is not in the cache, and its wheels are not on this host.
    """
    if not pins:
        packages, pins = pinned_packages(packages)
    path = _path(packages, pins)
    try:
        layer = _read(path)
    except (OSError, BadZipFile):
        # Gone, or damaged.
        path.unlink(missing_ok=True)
        layer = _layer(packages, _pinned_wheels(pins))
        _write(path, layer)
    of = {
        top: {
            f"/{place.removeprefix(top)}": data
            for place, data in layer.items()
            if place.startswith(top)
        }
        for top in ("packages/", "wheels/", "bin/")
    }
    mounts = {PACKAGES_AT: _mount(of["packages/"]), WHEELS_AT: _mount(of["wheels/"])}
    files = {f"{SCRIPTS_AT}{name}": data for name, data in of["bin/"].items()}
    return PackageLayer(mounts, {**files, "/etc/pip.conf": PIP_CONF.encode()})


def _mount(files: Mapping[str, bytes]) -> FileSystem:
    fs = empty_files()
    folders = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    for folder in sorted(folders - {"/"}):
        fs.mkdir(folder, True)
    for path, data in files.items():
        try:
            fs.write_file(path, data)
        except RuntimeError as error:
            raise UsageError(
                f"the machine cannot hold so many or so large packages: {path}: {error}. Name fewer in"
                " `packages`, or put fewer into the folder of `wheels`."
            ) from None
    set_times(fs, {INSTALLED_US: ["/", *sorted(folders - {"/"}), *files]})
    return fs


def compiled_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """The `.pyc` files of `sources`, made by the machine's own Python: an import takes half the time with them.

    They are never compared with their sources, because neither can change.
    """
    from agentworld_sim.engines.shell.wasi.python.python_program import python3

    live = LiveFiles(mounts := system_mounts())
    folders = sorted({f"/{name.rpartition('/')[0]}" for name in sources})
    for folder in (*mounts, *folders):
        live.fs.mkdir(folder, True)
    for name, data in sources.items():
        if name.endswith(".py"):
            live.fs.write_file(f"/{name}", data)
    options = ["--invalidation-mode", "unchecked-hash", "-q", "-s", "/packages", "-p", PACKAGES_AT]
    call = CommandCall(
        name="python3",
        argv=["-m", "compileall", *options, "/packages"],
        stdin=None,
        env={},
        cwd="/",
        files=live,
        clock=TurnClock(INSTALLED_US),
        random=Random(0),
        machine=Machine(),
        native=lambda *_, **__: CommandResult(),
        seconds_left=lambda: 600.0,
    )
    if (done := python3(call)).exit_code not in (0, 1):
        raise EngineFailure(f"the packages cannot be compiled: {done.stderr[-500:]}")
    found = {}
    for folder in folders:
        if live.exists(place := f"{folder}/__pycache__"):
            found |= {f"{place[1:]}/{one}": live.read(f"{place}/{one}") for one in live.listdir(place)}
    return found
