"""Options that a command had once: giving one says what replaces it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from agentworld_sim.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def removed_options(replacements: Mapping[str, str]) -> Callable[[F], F]:
    """Takes options that are gone, with or without a value, and refuses them.

    Args:
        replacements: The options as they were written, `--verbose -v`, each with what to do instead.
    """

    def add(command: F) -> F:
        for option, replacement in replacements.items():
            # With an optional value: some were flags.
            command = click.option(
                *option.split(),
                flag_value="",
                is_flag=False,
                hidden=True,
                is_eager=True,
                expose_value=False,
                callback=_refusal(replacement),
            )(command)
        return command

    return add


def _refusal(replacement: str) -> Callable[[click.Context, click.Parameter, str | None], None]:
    def refuse(context: click.Context, option: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise UsageError(f"{option.opts[0]} is gone. {replacement}")

    return refuse
