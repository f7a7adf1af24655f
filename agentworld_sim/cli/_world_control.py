"""`agentworld world control`: the declared controls of a world, switched on and off from outside."""

from __future__ import annotations

import json
from typing import Any

import click

from agentworld_sim.cli.command_options import asynchronous, json_option, world_argument
from agentworld_sim.controls.control_list import declarations_of
from agentworld_sim.errors import UsageError
from agentworld_sim.store.home import open_store
from agentworld_sim.world import World


@click.group("control")
@world_argument
@click.pass_context
def control(context: click.Context, world_id: str) -> None:
    """Switch the declared controls of a world, also while another process serves it.

    The switch is a turn of the world's history: the agent's next call meets it, forks have it, and an earlier
    point does not.

    \b
      agentworld world control lab add fault name=outage tool=search error="503 Service Unavailable"
      agentworld world control lab list
      agentworld world control lab remove outage
    """
    context.obj = world_id


@control.command("add")
@click.argument("kind")
@click.argument("fields", metavar="[KEY=VALUE]...", nargs=-1)
@click.pass_obj
@asynchronous
async def add_control(world_id: str, kind: str, fields: tuple[str, ...]) -> None:
    """Switch on a control of KIND, or a profile. A VALUE that is JSON is taken as such, all else as text."""
    written: dict[str, Any] = {"kind": kind}
    for field in fields:
        key, sign, text = field.partition("=")
        if not (key and sign) or key in written:
            raise UsageError(
                f"{field!r} is {'given twice' if key in written else 'not of the form KEY=VALUE'}, for"
                " example tool=search."
            )
        written[key] = _field_value(text)
    await _switch(world_id, add=[written])


@control.command("remove")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.pass_obj
@asynchronous
async def remove_control(world_id: str, names: tuple[str, ...]) -> None:
    """Switch off declared controls."""
    await _switch(world_id, remove=names)


@control.command("list")
@json_option
@click.pass_obj
@asynchronous
async def list_controls(world_id: str, as_json: bool) -> None:
    """List the declared controls, the outermost first."""
    async with await World.open(world_id, store=open_store(), model=False) as opened:
        declared = declarations_of(await opened.state())
    if as_json:
        click.echo(json.dumps(list(declared)))
        return
    for one in declared:
        click.echo(json.dumps(one, ensure_ascii=False))
    if not declared:
        click.echo("None. `agentworld world control ID add KIND …` switches one on.", err=True)


async def _switch(world_id: str, **changes: Any) -> None:
    async with await World.open(world_id, store=open_store(), model=False) as opened:
        click.echo(await opened.switch_controls(**changes))


def _field_value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
