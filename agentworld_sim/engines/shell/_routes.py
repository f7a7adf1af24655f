"""Who answers a command: the shell, the imaginer, or nobody."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import get_args

from agentworld_sim.engines.shell.commands.builtins import BUILTINS
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.tools import Route


class Routes:
    """What a scenario says of commands, by name or glob pattern.

    `compute`: the shell, which says `command not found` when it does not have the command. `imagine`:
    the imaginer, also for a command that the shell has. `refuse`: the step is refused.
    """

    def __init__(self, routes: Mapping[str, Route]) -> None:
        """
        Args:
            routes: Command name or glob pattern to route. An exact name counts first, then the
                first pattern that fits.

        Raises:
            UsageError: no such route, or a builtin of the shell itself is not left to it.
        """
        for name, route in routes.items():
            if route not in get_args(Route):
                raise UsageError(
                    f"the command {name!r} has the route {route!r}."
                    f"{nearest(route, get_args(Route))} There are: {', '.join(get_args(Route))}."
                )
            if name in BUILTINS and route != "compute":
                raise UsageError(
                    f"the command {name!r} cannot have the route {route!r}: it is a builtin of the"
                    " shell itself, which always computes it. Leave it out."
                )
        self._routes = dict(routes)

    def setting(self, name: str) -> str | None:
        """The name or pattern that decides about `name`; `None` if nothing was said."""
        if name in BUILTINS:
            return None
        if name in self._routes:
            return name
        return next((key for key in self._routes if fnmatchcase(name, key)), None)

    def of(self, name: str) -> Route | None:
        """The route of `name`; `None` if nothing was said of it."""
        setting = self.setting(name)
        return None if setting is None else self._routes[setting]
