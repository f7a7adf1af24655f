"""`agentworld world`: what is in the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from agentworld_sim.cli._world_control import control
from agentworld_sim.cli.command_options import asynchronous, json_option, world_argument
from agentworld_sim.plain_text import count_of, shorten
from agentworld_sim.runtime.world_history import is_switch
from agentworld_sim.store.home import open_store
from agentworld_sim.world import World

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldUsage


@click.group()
def world() -> None:
    """List, look into, compare, fork, put back and remove kept worlds.

    Worlds are kept where AGENTWORLD_STORE says: a file, or the URL of a PostgreSQL database. Without it,
    in one file in AGENTWORLD_HOME or your user data folder.
    """


world.add_command(control)


@world.command("ls")
@json_option
def ls(as_json: bool) -> None:
    """List all worlds: id, turns, creation, scenario, and what each was forked from."""
    records = open_store().worlds()
    if as_json:
        names = ("id", "turns", "root", "head", "created")
        found = [
            {
                **{name: getattr(record, name) for name in names},
                "scenario": scenario_name(record.scenario),
                "forked_from": record.forked_from or None,
            }
            for record in records
        ]
        click.echo(json.dumps(found))
        return
    if not records:
        click.echo("No worlds yet. `agentworld shell --world NAME` makes one.", err=True)
    width = max((len(record.id) for record in records), default=0)
    for record in records:
        forked = f"  (fork of {record.forked_from})" if record.forked_from else ""
        click.echo(
            f"{record.id:{width}}  {record.turns:5d} turns  {record.created}"
            f"  {scenario_name(record.scenario)}{forked}"
        )


@world.command("show")
@world_argument
@click.option("--jsonl", is_flag=True, help="Print the whole trajectory as JSON Lines.")
@asynchronous
async def show(world_id: str, jsonl: bool) -> None:
    """Show a world's history: refs, calls, provenance and the first line of each answer."""
    async with await World.open(world_id, store=open_store()) as opened:
        turns = await opened.trajectory()
        if jsonl:
            for turn in turns:
                click.echo(turn.to_line())
            return
        state = await opened.state()
        now = datetime.fromtimestamp(state.clock_us // 1_000_000, UTC)
        click.echo(f"world     {opened.id}")
        click.echo(f"scenario  {opened.scenario.name} (seed {state.seed})")
        click.echo(f"clock     {now:%Y-%m-%d %H:%M:%S} UTC, in the world")
        click.echo(f"files     {sum(entry.kind == 'file' for entry in state.files.values())}")
        click.echo(f"root      {opened.root}")
        for number, turn in enumerate(turns, 1):
            first = turn.observation.text.partition("\n")[0]
            click.echo(
                f"{number:4d}  {turn.ref}  {turn.observation.provenance:9}"
                f"  {turn.call.name}: {_short(turn.action.text)}  →  {_short(first)}"
            )
        for merge in await opened.merges():
            click.echo(f"merge     {merge.ref}  of {len(merge.parents)} branches")
            for conflict in merge.conflicts:
                click.echo(f"conflict  {conflict}")
        for switch in filter(is_switch, opened.store.lineage(opened.ref)):
            told = json.dumps(switch.call.arguments, ensure_ascii=False)
            click.echo(f"controls  {switch.ref}  {switch.observation.provenance:9}  {told}")


@world.command("cost")
@world_argument
@json_option
@asynchronous
async def cost(world_id: str, as_json: bool) -> None:
    """Show what the language world model cost: requests, tokens and time."""
    from agentworld_sim.imagination import usage_of

    async with await World.open(world_id, store=open_store()) as opened:
        usage = usage_of(await opened.trajectory(), await opened.failures())
    if as_json:
        click.echo(json.dumps(usage.to_json()))
        return
    for name, told in _cost_lines(usage):
        click.echo(f"{name:10}  {told}")


def _cost_lines(usage: WorldUsage) -> Iterator[tuple[str, str]]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(usage.by_provenance.items()))
    yield "turns", f"{usage.turns}{f': {kinds}' if kinds else ''}"
    if usage.failed_steps:
        yield "failed", f"{count_of(usage.failed_steps, 'step')} gave no turn"
    if not usage.requests + usage.saved:
        yield "model", "was not asked"
        return
    if usage.commands:
        yield "commands", f"{usage.commands} imagined inside of turns"
    yield (
        "requests",
        f"{usage.requests} to the server, {usage.saved} saved by the cache of replies",
    )
    yield "replies", f"{usage.refused} not used, {usage.untagged} without the tag"
    if usage.controlled + usage.rewritten:
        rewritten = f"{count_of(usage.rewritten, 'observation')} rewritten by rule"
        yield "controls", f"{usage.disobeyed} of {usage.controlled} answers disobeyed, {rewritten}"
    if usage.rated:
        yield (
            "confidence",
            f"{usage.confidence:.2f} on average, of {usage.rated} answers",
        )
    share = usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0
    read = f"{usage.prompt_tokens:,} read ({share:.0%} from the server's prefix cache)"
    written = f"{usage.completion_tokens:,} written ({usage.thinking_tokens:,} of them thinking)"
    yield "tokens", f"{read}, {written}"
    yield "time", f"{usage.seconds:.1f} s of requests, one after another"
    if one := usage.per_answer():
        share = usage.asked / (usage.turns + usage.failed_steps)
        told = f"{one['requests']:.1f} requests, {one['tokens written']:,.0f} tokens written"
        yield "each", f"{told} and {one['seconds']:.1f} s; {share:.0%} of the steps ask the model"


@world.command("diff")
@world_argument
@click.option("--since", metavar="REF", help="Compare with this point instead of the beginning.")
@click.option("--patch", is_flag=True, help="Print the files as a patch that `git apply` takes.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: files, records and values.")
@click.option(
    "--below", default="/", metavar="PATH", help="For --patch: paths are relative to this folder."
)
@asynchronous
async def diff(world_id: str, since: str | None, patch: bool, as_json: bool, below: str) -> None:
    """Show which files, records and values a world changed.

    \b
      agentworld shell --from . --world fix -c 'sed -i s/teh/the/ README.md'
      agentworld world diff fix --patch --below /srv/app | git apply
    """
    if patch and as_json:
        raise click.UsageError("--patch and --json are two forms of the same. Give one of them.")
    async with await World.open(world_id, store=open_store()) as opened:
        if patch:
            click.echo(await opened.patch(since, below=below), nl=False)
            return
        found = await opened.diff(since)
        if as_json or found:
            click.echo(json.dumps(found.to_json()) if as_json else str(found))


@world.command("fork")
@world_argument
@click.argument("new_id", metavar="NEW_ID", required=False)
@click.option("--at", metavar="REF", help="Begin at this point; where the world stands by default.")
@click.option("--seed", type=click.IntRange(min=0), help="A new seed of the random source.")
@asynchronous
async def fork(world_id: str, new_id: str | None, at: str | None, seed: int | None) -> None:
    """Make a world of its own that begins where another stands, and print its id."""
    async with await World.open(world_id, store=open_store()) as opened:
        forked = await opened.fork(seed=seed, at=at, id=new_id)
        click.echo(forked.id)
        await forked.close()


@world.command("rewind")
@world_argument
@click.option("--to", metavar="REF", help="Go back to this point; to the beginning by default.")
def rewind(world_id: str, to: str | None) -> None:
    """Put a world back to an earlier point, and print that point.

    No turn is lost: `agentworld world rewind ID --to REF` also goes forward again.
    """
    store = open_store()
    record = store.world(world_id)
    click.echo(f"{store.rewind(world_id, to or record.root).head}  (it stood at {record.head})")


@world.command("rm")
@click.argument("world_ids", metavar="ID...", nargs=-1, required=True)
def rm(world_ids: tuple[str, ...]) -> None:
    """Remove worlds and what only they needed. Forks of them stay whole."""
    store = open_store()
    for world_id in world_ids:
        store.world(world_id)
    for world_id in world_ids:
        store.remove(world_id)


def scenario_name(stored: str) -> str:
    return json.loads(stored)["name"]


def _short(text: str, width: int = 60) -> str:
    return shorten(" ".join(text.split()), width)
