"""What users and packages add by name: a built-in table, and one group of entry points behind it.

A built-in name is found without looking at what is installed. Only the entry point that is asked for is
imported, so a package that is broken harms nobody who does not use it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Generic, TypeVar

from agentworld_sim.errors import UsageError, nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Registry(Generic[T]):
    """The things of one sort that have names: the kinds of control, the toolkits, …"""

    def __init__(
        self,
        group: str,
        *,
        what: str,
        builtin: Callable[[], Mapping[str, T | str]],
        read: Callable[[object], T],
    ) -> None:
        """
        Args:
            group: The entry-point group of packages that add to it: `agentworld.controls`.
            what: One of its things, in messages: `kind of control`.
            builtin: Gives what the library itself has, by name, or the `module:name` that it is imported from;
                called once, when first needed.
            read: What an entry point names, if it is one of these things; else it raises `TypeError`
                with what it should be.
        """
        self.group = group
        self._what = what
        self._make = builtin
        self._read = read
        self._loaded: dict[str, T] = {}

    @cached_property
    def _builtin(self) -> Mapping[str, T | str]:
        return self._make()

    def names(self) -> tuple[str, ...]:
        """All names, the built-in ones first. Imports no package."""
        return tuple(dict.fromkeys([*self._builtin, *sorted(_entry_points(self.group).names)]))

    def get(self, name: str) -> T:
        """What has this name.

        Raises:
            UsageError: nothing has, two packages have it, or its package cannot be imported.
        """
        if name not in self._loaded:
            own = self._builtin.get(name)
            if own is None:
                self._loaded[name] = self._load(name)
            else:
                self._loaded[name] = self._read(resolve_name(own)) if isinstance(own, str) else own
        return self._loaded[name]

    def all(self) -> dict[str, T]:
        """Everything by name. A package that cannot be imported is left out, and logged."""
        found: dict[str, T] = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except UsageError as error:
                logger.warning("%s", error)
        return found

    def packages(self, name: str) -> list[str]:
        """The packages that add what has this name."""
        return _packages(_entry_points(self.group).select(name=name))

    def _load(self, name: str) -> T:
        points = _entry_points(self.group).select(name=name)
        packages = _packages(points)
        if not packages:
            raise UsageError(self._unknown(name))
        if len(packages) > 1:
            raise UsageError(
                f"the {self._what} {name!r} comes with several packages: {', '.join(packages)}. Uninstall"
                " all but one."
            )
        try:
            return self._read(next(iter(points)).load())
        except Exception as error:
            raise UsageError(
                f"the {self._what} {name!r} of the package {packages[0]!r} cannot be used"
                f" ({type(error).__name__}: {error}). Repair or uninstall that package."
            ) from error

    def _unknown(self, name: str) -> str:
        known = self.names()
        package, slash, _ = name.partition("/")
        install = f"the package {package!r}" if slash else "the package that it comes with"
        return (
            f"there is no {self._what} {name!r}.{nearest(name, known)} There are:"
            f" {', '.join(known) or 'none'}. If it is not one of these, install {install}: it declares"
            f" an entry point {name!r} in the group {self.group!r}."
        )


def _packages(points: EntryPoints) -> list[str]:
    return sorted({one.dist.name if one.dist else one.value for one in points})


def _entry_points(group: str) -> EntryPoints:
    # The import takes longer than that of all our values together.
    from importlib.metadata import entry_points

    return entry_points(group=group)
