"""`agentworld controls`: what can go wrong in a world, and which of it an agent should be tried under."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from agentworld_sim.cli.command_options import asynchronous, json_option
from agentworld_sim.errors import UsageError, nearest


@click.group()
def controls() -> None:
    """List faults that a world enforces, and propose some for an agent.

    \b
      agentworld controls list
      agentworld controls show rate-limit
      agentworld world show ID --jsonl > failed.jsonl
      agentworld controls suggest failed.jsonl
      agentworld controls compile "The second search fails, and no answer shows the price." > controls.yaml
    """


@controls.command("list")
def list_controls() -> None:
    """List kinds and profiles."""
    from agentworld_sim.controls import control_kinds
    from agentworld_sim.controls.control_list import quadrant_of
    from agentworld_sim.scenario import control_profiles

    kinds = {name: _summary(control_kinds.get(name)) for name in control_kinds.names()}
    profiles = {name: one.summary for name, one in control_profiles().items()}
    width = max(map(len, [*kinds, *profiles]))
    before = None
    for name, summary in kinds.items():
        if (quadrant := quadrant_of(name)) != before:
            click.echo(f"{quadrant}:")
        before = quadrant
        click.echo(f"  {name:{width}}  {summary}")
    click.echo("profiles:")
    for name, summary in profiles.items():
        click.echo(f"  {name:{width}}  {summary}")


@controls.command()
@click.argument("name")
def show(name: str) -> None:
    """Show the keys of a kind, or the controls of a profile."""
    from agentworld_sim.controls import SelectiveControl, control_kinds
    from agentworld_sim.scenario import control_profiles, control_schema

    profile = control_profiles().get(name)
    if profile is not None:
        click.echo(profile.summary)
        for one in profile.controls:
            click.echo(f"  - {json.dumps(one, ensure_ascii=False)}")
        return
    if name not in control_kinds.names():
        known = [*control_kinds.names(), *control_profiles()]
        raise UsageError(
            f"there is no kind of control and no profile {name!r}.{nearest(name, known)} `agentworld controls"
            " list` names them all."
        )
    kind = control_kinds.get(name)
    schema = control_schema(kind)
    click.echo(_summary(kind, whole=True))
    shared = control_schema(SelectiveControl)["properties"]
    for shown, title in ((False, "Its keys:"), (True, "Which calls it strikes:")):
        click.echo(title)
        for key, field in schema["properties"].items():
            if (field == shared.get(key)) == shown:
                required = key in schema.get("required", ())
                default = "required" if required else json.dumps(field.get("default"))
                click.echo(f"  {key} ({default}): {' '.join(field.get('description', '').split())}")


@controls.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE...",
)
@json_option
def suggest(files: Sequence[Path], as_json: bool) -> None:
    """Propose profiles by what failed trajectories (JSON Lines) show."""
    from agentworld_sim.scenario.suggestions import suggest_profiles
    from agentworld_sim.types.turns import Trajectory

    found = suggest_profiles(
        {
            str(file): [(turn.call, turn.observation) for turn in Trajectory.read(file)]
            for file in files
        }
    )
    if as_json:
        proposed = [{"profile": one.profile, "evidence": one.evidence} for one in found]
        click.echo(json.dumps(proposed))
        return
    if not found:
        click.echo("Nothing in these calls speaks for a profile.", err=True)
    for one in found:
        click.echo(one.profile)
        for line in one.evidence:
            click.echo(f"  {line}")


@controls.command("compile")
@click.argument("text")
@click.option("--model-url", metavar="URL", help="Who compiles it (AGENTWORLD_MODEL_URL).")
@click.option("--model", metavar="NAME", help="The model's name as served (AGENTWORLD_MODEL).")
@asynchronous
async def compile_controls(text: str, model_url: str | None, model: str | None) -> None:
    """Have a model make controls of an instruction, as a scenario writes them.

    What no control enforces is told beside them: a world model can be given it as an instruction, and may not keep to it.
    """
    import yaml

    from agentworld_sim.llm import ModelSettings
    from agentworld_sim.llm.client import ChatClient
    from agentworld_sim.scenario import compile_instruction

    settings = ModelSettings.find(url=model_url, model=model)
    if settings is None:
        raise UsageError(
            "there is no model to compile the instruction. Give its URL: --model-url"
            " http://127.0.0.1:8000/v1, or AGENTWORLD_MODEL_URL."
        )
    client = ChatClient(settings)
    try:
        made = await compile_instruction(text, client)
    finally:
        await client.close()
    click.echo("controls:" if made.controls else "controls: []")
    for control, quote in zip(made.controls, made.quotes, strict=True):
        written = yaml.safe_dump(dict(control), default_flow_style=True, sort_keys=False, width=999)
        click.echo(f"  # {quote}\n  - {written.strip()}")
    for left in made.unenforced:
        click.echo(f"not enforced: {left}", err=True)


def _summary(kind: type, *, whole: bool = False) -> str:
    text = " ".join((kind.__doc__ or "").split())
    return text if whole else text.partition(". ")[0].rstrip(".") + "."
