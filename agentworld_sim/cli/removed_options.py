"""Options that a command had once: giving one says what replaces it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from agentworld_sim.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def removed_options(**replacements: str) -> Callable[[F], F]:
    """Takes options that are gone, with or without a value, and refuses them.

    Args:
        replacements: The options by their names in Python, each with what to do instead.
    """

    def refuse(context: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            name = str(option.name)
            raise UsageError(f"--{name.replace('_', '-')} is gone. {replacements[name]}")

    def add(command: F) -> F:
        for name in replacements:
            # With an optional value: some were flags.
            command = click.option(
                f"--{name.replace('_', '-')}",
                flag_value="",
                is_flag=False,
                default=None,
                hidden=True,
                is_eager=True,
                expose_value=False,
                callback=refuse,
            )(command)
        return command

    return add
