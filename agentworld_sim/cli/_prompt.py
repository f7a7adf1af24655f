"""`agentworld prompt`: what a model was asked, and what it said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from agentworld_sim.cli.command_options import asynchronous, world_argument
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.store import WorldStore
from agentworld_sim.store.home import open_store
from agentworld_sim.types.exchanges import Exchange, Source
from agentworld_sim.world import World


@click.group()
def prompt() -> None:
    """See what the language world model was asked, and what it said."""


@prompt.command("show")
@world_argument
@click.option(
    "--turn",
    metavar="N|REF",
    help="The turn: its number from 1, or its ref (or the beginning of it). The last one that asked"
    " a model by default.",
)
@click.option("--failed", is_flag=True, help="The last step that gave no turn, instead of a turn.")
@click.option("--thinking", is_flag=True, help="Also what the model thought.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: messages, parameters, replies.")
@asynchronous
async def show(
    world_id: str, turn: str | None, failed: bool, thinking: bool, as_json: bool
) -> None:
    """Show the exact messages that a model was sent for a turn of the kept world ID.

    \b
      agentworld prompt show lab
      agentworld prompt show lab --turn 3 --thinking
      agentworld prompt show lab --failed
    """
    if failed and turn is not None:
        raise UsageError("--failed and --turn both say which one. Give one of them.")
    store = open_store()
    async with await World.open(world_id, store=store) as world:
        found = await (_failed_step(world) if failed else _turn(world, turn))
    sent = [_SentExchange(exchange, _messages(exchange, store)) for exchange in found.exchanges]
    if as_json:
        click.echo(json.dumps([one.to_json() for one in sent], indent=2, ensure_ascii=False))
        return
    for line in found.heading:
        click.echo(line)
    if not sent:
        click.echo("No model was asked for it.")
    shown: dict[tuple[int, str, str], int] = {}
    for number, one in enumerate(sent, 1):
        one.print(number, len(sent), shown, thinking=thinking)


@dataclass(frozen=True, slots=True)
class _Subject:
    heading: tuple[str, ...]
    exchanges: Sequence[Exchange]


@dataclass(frozen=True, slots=True)
class _SentExchange:
    exchange: Exchange
    messages: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        value = self.exchange.to_json()
        value["messages"] = [{"role": role, "content": text} for role, text in self.messages]
        return value

    def print(
        self, number: int, count: int, shown: dict[tuple[int, str, str], int], *, thinking: bool
    ) -> None:
        """Prints it; a message that stands in `shown` is named by the request that had it first."""
        one = self.exchange
        _rule(f"request {number} of {count}: {one.about} ({_SOURCES[one.source]})")
        click.echo(_parameters(one.parameters))
        for place, (role, text) in enumerate(self.messages):
            before = shown.setdefault((place, role, text), number)
            if before < number:
                _rule(f"{role}: as in request {before}")
                continue
            _rule(role)
            click.echo(text)
        if thinking and one.thinking:
            _rule("thinking")
            click.echo(one.thinking)
        _rule("reply")
        click.echo(one.content)
        _rule("")
        usage = ", ".join(f"{name} {tokens:,}" for name, tokens in one.usage.items())
        click.echo(f"{usage or 'usage not sent'}; {one.seconds:.2f} s; {one.finish_reason}")
        if one.problem:
            click.echo(f"not used: {one.problem}")
        elif not one.tagged:
            click.echo("used, though it stood in no tag")


async def _turn(world: World, wanted: str | None) -> _Subject:
    turns = (await world.trajectory()).turns
    asked = [number for number, turn in enumerate(turns, 1) if turn.exchanges]
    if wanted is None:
        if not asked:
            raise UsageError(
                f"no model was asked in any turn of {world.id!r}; it has {len(turns)}. For a step that"
                f" failed: `agentworld prompt show {world.id} --failed`."
            )
        number = asked[-1]
    elif wanted.isdecimal() and len(wanted) < 8:
        number = int(wanted)
        if not 1 <= number <= len(turns):
            has = f"the turns 1 to {len(turns)}" if turns else "no turns"
            raise UsageError(
                f"{world.id!r} has {has}, and turn {number} was asked for."
                f" `agentworld world show {world.id}` lists them."
            )
    else:
        fitting = [n for n, turn in enumerate(turns, 1) if turn.ref.startswith(wanted)]
        if len(fitting) != 1:
            refs = [turn.ref for turn in turns]
            raise UsageError(
                f"{len(fitting) or 'no'} turns of {world.id!r} have a ref that begins with"
                f" {wanted!r}.{nearest(wanted, refs)} `agentworld world show {world.id}` lists them."
            )
        number = fitting[0]
    turn = turns[number - 1]
    heading = (
        f"turn {number} of {len(turns)}: {turn.call.name}, {turn.observation.provenance}",
        f"ref {turn.ref}",
    )
    return _Subject(heading, turn.exchanges)


async def _failed_step(world: World) -> _Subject:
    failures = await world.failures()
    if not failures:
        raise UsageError(f"no step of {world.id!r} failed after a model was asked.")
    last = failures[-1]
    heading = (f"step that failed at {last.when}: {last.call.name}", f"error {last.error}")
    return _Subject(heading, last.exchanges)


def _messages(exchange: Exchange, store: WorldStore) -> tuple[tuple[str, str], ...]:
    return tuple(
        (role, store.blobs.get(blob).decode("utf-8", "replace")) for role, blob in exchange.messages
    )


_SOURCES: Mapping[Source, str] = {
    "server": "answered by the server",
    "cache": "answered by the cache",
    "shared": "answered with an equal request that was under way",
}


def _parameters(parameters: Mapping[str, Any]) -> str:
    """The request without its messages, on one line; a schema is named, since it can be long."""
    sent = {name: value for name, value in parameters.items() if name != "response_format"}
    line = json.dumps(sent, ensure_ascii=False)
    if "response_format" in parameters:
        line += "\nwith a JSON schema for the answer (--json shows it)"
    return line


def _rule(title: str) -> None:
    click.echo(click.style(f"── {title} ".ljust(72, "─") if title else "─" * 72, dim=True))
