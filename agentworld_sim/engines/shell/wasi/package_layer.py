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
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from random import Random
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from bashkit import FileSystem

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.file_times import TurnClock, set_times
from agentworld_sim.engines.shell.image import INSTALLED_US, empty_files
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.wasi.wheels import PYTHON, Wheel, needed_wheels, wheels_in
from agentworld_sim.errors import UsageError
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
        _layer_file(packages, pins)
        return packages, pins
    there = wheels_in(folder or user_wheels())
    installed = needed_wheels([*packages, "pip"], there)
    offered = there if folder else installed
    found = tuple(f"{one.name}=={one.version}" for one in installed), tuple(o.pin for o in offered)
    _layer_file(*found, offered)
    return found


def _layer_file(
    packages: tuple[str, ...], pins: tuple[str, ...], wheels: Sequence[Wheel] | None = None
) -> Path:
    """The layer in the cache, built if it is not there or damaged."""
    name = hashlib.sha256("\n".join((FORM, *packages, "", *pins)).encode()).hexdigest()
    path = cache_home() / "layers" / f"{name}.zip"
    try:
        with ZipFile(path) as archive:
            if archive.testzip() is None:
                return path
    except (OSError, BadZipFile):
        pass
    files = _layer(packages, _pinned_wheels(pins) if wheels is None else wheels)
    data = BytesIO()
    with ZipFile(data, "w", ZIP_STORED) as archive:
        for place, content in files.items():
            archive.writestr(ZipInfo(place), content)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(".building", name, path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data.getvalue())
        os.replace(beside, path)
    except OSError as error:
        raise UsageError(
            f"the packages cannot be kept in {path.parent}: {error}. Name a folder that can be written:"
            " AGENTWORLD_HOME."
        ) from error
    return path


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
    """What pip makes of a wheel, except compiled modules."""
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
    parser = ConfigParser(delimiters="=", interpolation=None)
    parser.optionxform = str  # type: ignore[method-assign,assignment]
    parser.read_string(wheel.files.get(f"{info}/entry_points.txt", b"").decode())
    scripts = parser["console_scripts"] if parser.has_section("console_scripts") else {}
    for name, place in scripts.items():
        module, _, call = place.partition("[")[0].strip().partition(":")
        script = SCRIPT.format(module=module, first=call.partition(".")[0], call=call)
        files[f"bin/{name}"] = script.encode()
    if wheel.name == "pip":
        files["bin/pip3"] = files.setdefault("bin/pip", b"")
        files.pop("bin/pip3.11", None)
    files[f"packages/{info}/INSTALLER"] = b"pip\n"
    files[f"packages/{info}/RECORD"] = _record(files, f"packages/{info}/RECORD")
    return files


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    lines: list[str] = []
    for place, data in files.items():
        top, _, rest = place.partition("/")
        shown = rest if top == "packages" else f"../../../local/bin/{rest}"
        digest = urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{shown},," if place == own else f"{shown},sha256={digest},{len(data)}")
    return ("\n".join(lines) + "\n").encode()


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
    mounts = {"packages": empty_files(), "wheels": empty_files()}
    if not pins:
        packages, pins = pinned_packages(packages)
    files = {"/etc/pip.conf": PIP_CONF.encode()}
    made: dict[str, list[str]] = {top: ["/"] for top in mounts}
    with ZipFile(_layer_file(packages, pins)) as archive:
        for place in archive.namelist():
            top, _, name = place.partition("/")
            data = archive.read(place)
            if top == "bin":
                files[f"{SCRIPTS_AT}/{name}"] = data
                continue
            folders = [
                f"/{folder}"
                for folder in map(str, reversed(PurePosixPath(name).parents))
                if folder != "."
            ]
            for folder in folders:
                if folder not in made[top]:
                    mounts[top].mkdir(folder, True)
            try:
                mounts[top].write_file(f"/{name}", data)
            except RuntimeError as error:
                raise UsageError(
                    f"the machine cannot hold so many or so large packages: {name}: {error}. Name fewer in"
                    " `packages`, or put fewer into the folder of `wheels`."
                ) from None
            made[top] += [*folders, f"/{name}"]
    for top, paths in made.items():
        set_times(mounts[top], {INSTALLED_US: sorted(set(paths))})
    return PackageLayer({PACKAGES_AT: mounts["packages"], WHEELS_AT: mounts["wheels"]}, files)


def compiled_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """The `.pyc` files of `sources`, made by the machine's own Python: an import takes half the time with them.

    They are never compared with their sources, because neither can change.
    """
    from agentworld_sim.engines.shell.wasi.python.python_program import python3

    live = LiveFiles({})
    for folder in sorted({name.rpartition("/")[0] for name in sources}):
        live.fs.mkdir(f"/{folder}", True)
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
    python3(call)
    found = {}
    for folder in sorted({name.rpartition("/")[0] for name in sources}):
        place = f"{folder}/__pycache__"
        if live.exists(f"/{place}"):
            found |= {f"{place}/{n}": live.read(f"/{place}/{n}") for n in live.listdir(f"/{place}")}
    return found
