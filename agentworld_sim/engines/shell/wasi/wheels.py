"""Wheels of Python packages: those in a folder of the user's, and which of them a scenario's packages need."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PathDistribution
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile, Path as ZipPath, ZipFile

from packaging.metadata import InvalidMetadata, Metadata
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from resolvelib import AbstractProvider, BaseReporter, ResolutionImpossible, Resolver

from agentworld_sim.engines.shell.wasi.package_files import PYTHON
from agentworld_sim.errors import UsageError, nearest

MARKERS = {
    "implementation_name": "cpython",
    "implementation_version": "3.12.0",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.12.0",
    "python_version": PYTHON,
    "sys_platform": "linux",
}
"""What the machine answers where a requirement asks."""


_MACHINE_CODE = (
    "has parts in machine code, which the simulated machine's Python (WebAssembly) cannot load. If they are optional:"
    " agentworld machine packages add --from-source NAME. Without it a program says ModuleNotFoundError."
)


@dataclass(frozen=True)
class Wheel:
    """One wheel file."""

    path: Path
    name: str
    """The package's name, in its canonical form."""
    version: Version
    compiled: bool
    """Whether its name says that it has parts in machine code."""

    @classmethod
    def at(cls, path: Path) -> Wheel:
        """
        Raises:
            UsageError: the file's name is none of a wheel.
        """
        try:
            name, version, _, tags = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            raise UsageError(
                f"{path} has not the name of a wheel, as pytest-9.0.0-py3-none-any.whl. Remove it."
            ) from None
        pure = any(tag.platform == "any" and tag.interpreter.startswith("py3") for tag in tags)
        return cls(path, name, version, not pure)

    @property
    def pin(self) -> str:
        """The file's name with the hash of its content: `NAME.whl#sha256=…`."""
        return f"{self.path.name}#sha256={hashlib.sha256(self.data).hexdigest()}"

    @cached_property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Contents by name.

        Raises:
            UsageError: the file is broken, or holds machine code.
        """
        self.require_pure()
        return {name: self._read(name) for name in self._names if not name.endswith("/")}

    def require_pure(self) -> None:
        """Raises `UsageError` where the wheel holds machine code."""
        if any(name.endswith((".so", ".pyd", ".dylib")) for name in self._names):
            raise UsageError(f"{self.path.name} {_MACHINE_CODE}")

    @cached_property
    def info(self) -> str:
        """The folder of its metadata."""
        unsafe = any(name.startswith("/") or ".." in name.split("/") for name in self._names)
        found = [name for name in self._names if name.endswith(".dist-info/METADATA")]
        if unsafe or len(found) != 1 or found[0].count("/") != 1:
            raise self._damage("it is not laid out as a wheel")
        return found[0].partition("/")[0]

    @cached_property
    def _names(self) -> list[str]:
        return self._archive.namelist()

    @cached_property
    def _archive(self) -> ZipFile:
        try:
            return ZipFile(BytesIO(self.data))
        except BadZipFile as error:
            raise self._damage(error) from None

    def _read(self, name: str) -> bytes:
        try:
            return self._archive.read(name)
        except (BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
            raise self._damage(error) from None

    def _damage(self, why: object) -> UsageError:
        return UsageError(
            f"{self.path} is broken: {why}. Remove it and get it again:"
            f" agentworld machine packages add {self.name}=={self.version}"
        )

    @cached_property
    def _metadata(self) -> tuple[SpecifierSet, list[Requirement]]:
        """The Pythons that it is for, and what it needs."""
        said = Metadata.from_email(self._read(f"{self.info}/METADATA"), validate=False)
        try:
            return said.requires_python or SpecifierSet(), said.requires_dist or []
        except (InvalidMetadata, InvalidVersion) as error:
            raise self._damage(error) from None

    @property
    def fits(self) -> bool:
        """Whether it is made for the machine's Python."""
        return not self.compiled and self._metadata[0].contains(MARKERS["python_full_version"])

    def requires(self, extras: frozenset[str]) -> Iterator[Requirement]:
        """What it needs on the machine, with these extras."""
        for one in self._metadata[1]:
            asked = [{**MARKERS, "extra": extra} for extra in extras or {""}]
            if one.marker is None or any(map(one.marker.evaluate, asked)):
                yield one

    @cached_property
    def console_scripts(self) -> Mapping[str, str]:
        """Where its programs begin, `MODULE:FUNCTION` by name."""
        described = PathDistribution(ZipPath(self.path, f"{self.info}/"))
        return {
            one.name: one.value for one in described.entry_points.select(group="console_scripts")
        }


def wheels_in(folder: Path) -> list[Wheel]:
    """The wheels in a folder, by file name."""
    return [Wheel.at(path) for path in sorted(folder.glob("*.whl"))]


def needed_wheels(
    asked: Sequence[str], wheels: Sequence[Wheel], folder: Path | None = None
) -> list[Wheel]:
    """The newest of `wheels` that the packages in `asked` need together, by name.

    Args:
        asked: Requirements as `pip install` takes them: `pytest`, `requests>=2.32`.
        folder: Where the wheels are, if not among the user's: a message names it.

    Raises:
        UsageError: one is no requirement, has no wheel, or only one that the machine cannot use; or they
            contradict each other.
    """
    try:
        roots = [Requirement(text) for text in asked]
    except InvalidRequirement as error:
        raise UsageError(f"machine.packages: one is no requirement: {error}") from None
    try:
        found = Resolver(_Choice(wheels), BaseReporter()).resolve(roots, max_rounds=1_000)
    except ResolutionImpossible as error:  # pyright: ignore[reportUnknownVariableType]
        causes = cast("Any", error).causes
        raise _impossible(
            [(one.requirement, one.parent) for one in causes], wheels, folder
        ) from None
    return sorted({wheel for wheel, _ in found.mapping.values()}, key=attrgetter("name"))


_Candidate = tuple[Wheel, frozenset[str]]
"""A wheel, and with which extras."""


class _Choice(AbstractProvider[Requirement, _Candidate, tuple[str, frozenset[str]]]):
    """What resolvelib asks. A package with extras is one of its own, that needs the plain one too."""

    def __init__(self, wheels: Sequence[Wheel]) -> None:
        self._wheels = wheels

    def identify(self, requirement_or_candidate: Any) -> tuple[str, frozenset[str]]:
        one = requirement_or_candidate
        if isinstance(one, tuple):
            wheel, extras = cast("_Candidate", one)
            return wheel.name, extras
        return canonicalize_name(one.name), frozenset(one.extras)

    def get_preference(self, identifier: Any, *_: Any, **__: Any) -> Any:
        return identifier[0], sorted(identifier[1])

    def find_matches(
        self, identifier: Any, requirements: Any, incompatibilities: Any
    ) -> list[_Candidate]:
        name, extras = identifier
        asked = list(requirements[identifier])
        without = {wheel for wheel, _ in incompatibilities[identifier]}
        found = [
            wheel
            for wheel in self._wheels
            if wheel.name == name and wheel not in without and wheel.fits
            if all(_meets(wheel, one) for one in asked)
        ]
        found.sort(key=lambda wheel: (not wheel.version.is_prerelease, wheel.version), reverse=True)
        return [(wheel, extras) for wheel in found]

    def is_satisfied_by(self, requirement: Requirement, candidate: _Candidate) -> bool:
        return _meets(candidate[0], requirement)

    def get_dependencies(self, candidate: _Candidate) -> Iterable[Requirement]:
        wheel, extras = candidate
        plain = [Requirement(f"{wheel.name}=={wheel.version}")] if extras else []
        return [*plain, *wheel.requires(extras)]


def _meets(wheel: Wheel, requirement: Requirement) -> bool:
    return requirement.specifier.contains(wheel.version, prereleases=True)


def _impossible(
    causes: Sequence[tuple[Requirement, _Candidate | None]],
    wheels: Sequence[Wheel],
    folder: Path | None,
) -> UsageError:
    texts = sorted({str(one).partition(";")[0].strip() for one, _ in causes})
    name, parent = canonicalize_name(causes[0][0].name), causes[0][1]
    needed = f" (needed by {parent[0].name} {parent[0].version})" if parent else ""
    there = [wheel for wheel in wheels if wheel.name == name]
    if there and all(wheel.compiled for wheel in there):
        return UsageError(f"{there[0].path.name}{needed} {_MACHINE_CODE}")
    if len(texts) > 1:
        return UsageError(f"the wheels of {' and '.join(texts)} cannot stand together.")
    versions = ", ".join(str(wheel.version) for wheel in there)
    hint = f" There are: {versions}." if there else nearest(name, {wheel.name for wheel in wheels})
    return UsageError(
        f"there is no wheel for {texts[0]!r}{needed} of Python {PYTHON}"
        f"{f' in {folder}' if folder else ''}.{hint} Get it with: agentworld machine packages add {texts[0]!r}"
        f"{f' --to {folder}' if folder else ''}"
    )
