"""The archives of the packages of machines, made from wheels.

An archive is built once, compiled by the machine's own Python, and kept in the user's cache under a hash of what is in
it. The scenario of a world names every wheel by its hash, so the same scenario is the same machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentworld_sim.engines.shell.wasi.archives import read_archive, write_archive
from agentworld_sim.engines.shell.wasi.package_files import PACKAGES_AT, PYTHON, layer_path
from agentworld_sim.engines.shell.wasi.python.python_program import run_alone
from agentworld_sim.engines.shell.wasi.wheels import Wheel, needed_wheels, wheels_in
from agentworld_sim.errors import EngineFailure, UsageError
from agentworld_sim.store.home import cache_home

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

_whole: set[Path] = set()
"""Archives that this process has looked into."""


def user_wheels() -> Path:
    """The folder of this user's wheels."""
    return cache_home() / "wheels"


def pinned_packages(
    packages: tuple[str, ...], folder: Path | None = None, pins: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a scenario asks for, as `NAME==VERSION` of all that is installed and the pins of all wheels. Their archive
    is in the cache then.

    pip is always among them. What is pinned already stays as it is.

    Args:
        folder: All wheels in it are on the machine for its pip. Without one, the packages are taken from the
            user's wheels.
        pins: Of the wheels, where they are pinned.

    Raises:
        UsageError: a wheel is missing, broken, cannot be used or has another content than the pin says.
    """
    if pins and folder is None:
        _build(packages, pins, None)
        return packages, pins
    there = wheels_in(folder or user_wheels())
    installed = needed_wheels([*packages, "pip"], there, folder)
    offered = there if folder else installed
    found = tuple(f"{one.name}=={one.version}" for one in installed), tuple(o.pin for o in offered)
    _build(*found, offered)
    return found


def _build(
    packages: tuple[str, ...], pins: tuple[str, ...], wheels: Sequence[Wheel] | None
) -> None:
    """Makes the archive, if it is not there or damaged, of `wheels` or of the user's."""
    path = layer_path(packages, pins)
    if path in _whole and path.exists():
        return
    if read_archive(path) is None:
        wheels = _pinned_wheels(pins) if wheels is None else wheels
        files: dict[str, bytes] = {}
        for wheel in wheels:
            if f"{wheel.name}=={wheel.version}" in packages:
                files |= installed_files(wheel)
        files |= compiled_sources(files)
        files |= {f"wheels/{wheel.path.name}": wheel.data for wheel in wheels}
        try:
            write_archive(path, dict(sorted(files.items())))
        except OSError as error:
            raise UsageError(
                f"the packages cannot be kept in {path.parent}: {error}. Name a folder that can be written:"
                " AGENTWORLD_HOME."
            ) from error
    _whole.add(path)


def _pinned_wheels(pins: Sequence[str]) -> list[Wheel]:
    """The user's wheels with these names and contents."""
    names = {pin: pin.partition("#")[0] for pin in pins}
    there = [one for one in wheels_in(user_wheels()) if one.path.name in names.values()]
    found = {one.pin: one for one in there}
    if missing := [Wheel.at(Path(name)) for pin, name in names.items() if pin not in found]:
        raise UsageError(
            "wheels of the machine's packages are not on this host, or have another content than the scenario names."
            f" Remove such from {user_wheels()}, and get them with: agentworld machine packages add"
            f" {' '.join(f'{one.name}=={one.version}' for one in missing)}"
        )
    return [found[pin] for pin in pins]


def installed_files(wheel: Wheel) -> dict[str, bytes]:
    """What an installed wheel is on the machine, except compiled modules."""
    info = wheel.info
    data_folder = f"{info.removesuffix('.dist-info')}.data/"
    files: dict[str, bytes] = {}
    for name, data in wheel.files.items():
        scheme, _, rest = name.removeprefix(data_folder).partition("/")
        if not name.startswith(data_folder):
            files[f"packages/{name}"] = data
        elif scheme in ("purelib", "platlib"):
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


def compiled_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """The `.pyc` files of `sources`, made by the machine's own Python: an import takes half the time with them.

    They are never compared with their sources, because neither can change.
    """
    options = ["--invalidation-mode", "unchecked-hash", "-q", "-s", "/packages", "-p", PACKAGES_AT]
    modules = {
        f"/{name}": data for name, data in sources.items() if re.match("packages/.*[.]py$", name)
    }
    done, files = run_alone(["-m", "compileall", *options, "/packages"], files=modules)
    # Some packages hold templates that are no Python: 1.
    if done.exit_code not in (0, 1):
        raise EngineFailure(f"the packages cannot be compiled: {done.stderr[-500:]}")
    return {
        path[1:]: files.read(path)
        for path, status in files.walk("/packages")
        if status.kind == "file" and path.endswith(".pyc")
    }
