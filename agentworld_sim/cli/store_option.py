"""`--store`, for the commands that have it."""

from __future__ import annotations

import click

from agentworld_sim.errors import UsageError
from agentworld_sim.store.urls import has_password


def check_store(
    context: click.Context, parameter: click.Parameter, where: str | None
) -> str | None:
    """What the option names, unless everybody on this machine would see a password in it.

    Raises:
        UsageError: it holds one.
    """
    if where is not None and has_password(where):
        raise UsageError(
            "--store holds a password, and every user of this machine can read a command line. Put the"
            " URL into AGENTWORLD_STORE, or the password into PGPASSWORD or ~/.pgpass."
        )
    return where


store_option = click.option(
    "--store",
    metavar="FILE|URL",
    callback=check_store,
    help="Keep worlds in this file or PostgreSQL database instead of AGENTWORLD_STORE or your own store.",
)
"""`--store`, without a password."""
