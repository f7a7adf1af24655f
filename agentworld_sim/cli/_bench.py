"""`agentworld bench`: how right imagined answers are, against environments that are code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentworld_sim.cli.command_options import ModelChoice, asynchronous, json_option, model_options
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.bench.transitions import TransitionSet

FILE = click.Path(path_type=Path, dir_okay=False)
RECORDED = click.Path(path_type=Path, dir_okay=False, exists=True)

recordings_argument = click.argument(
    "recordings", nargs=-1, required=True, type=RECORDED, metavar="RECORDING..."
)


@click.group()
def bench() -> None:
    """Measure how right a world model's answers are, without a judge.

    \b
      agentworld bench make bfcl --environment .venv-bfcl
      agentworld bench run bfcl.jsonl --output run.jsonl --model-url http://127.0.0.1:8000/v1
      agentworld bench report run.jsonl
      agentworld bench compare evidence.json hosted.json --output page.html
    """


@bench.command()
@click.argument("source", metavar="SOURCE")
@click.argument("cassettes", nargs=-1, type=RECORDED, metavar="[CASSETTE...]")
@click.option(
    "--environment",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The Python environment that has the source's package.",
)
@click.option("--output", type=FILE, help="The file to write; SOURCE.jsonl by default.")
@click.option(
    "--seed", default=0, show_default=True, help="Of what is drawn or tried beside tasks."
)
def make(
    source: str,
    cassettes: Sequence[Path],
    environment: Path | None,
    output: Path | None,
    seed: int,
) -> None:
    """Record the transitions of an environment that is code, or of real tools.

    \b
    computed                    worlds of this library; nothing has to be installed
    recorded CASSETTE...        calls of real tools, as `agentworld mcp --record` wrote them
    bfcl                        } tasks of a package, played in
    tau2-airline, tau2-retail   } the Python environment that has it
    """
    from agentworld_sim.bench import make as recording
    from agentworld_sim.bench.transitions import TransitionSet

    output = output or Path(f"{source}.jsonl")
    if bool(cassettes) != (source == "recorded"):
        raise UsageError("`recorded` takes the cassettes to read, and no other source does.")
    if environment and source in recording.OWN_SOURCES:
        raise UsageError(f"{source!r} needs no Python environment: leave out --environment.")
    if source == "computed":
        from agentworld_sim.bench.computed_worlds import record

        record(seed).write(output)
    elif source == "recorded":
        from agentworld_sim.bench.cassette_source import read_cassettes

        read_cassettes(cassettes).write(output)
    else:
        recording.make(source, environment and environment.absolute(), output, seed=seed)
    found = list(TransitionSet.load([output]).transitions())
    sides = {side: sum(one.side == side for one in found) for side in ("train", "known", "unseen")}
    about = {
        "computed": "",
        "recorded": " What they changed is not known: answers alone will be scored.",
    } | {name: f" Licence: {one.licence}." for name, one in recording.SOURCES.items()}
    click.echo(
        f"{output}: {len(found):,} transitions, {sides['train']:,} to learn from, {sides['known']:,} of other"
        f" tasks, {sides['unseen']:,} of other tools.{about[source]}"
    )


@bench.command()
@recordings_argument
@click.option("--output", required=True, type=FILE, help="The file to write.")
@click.option(
    "--gate",
    nargs=2,
    type=RECORDED,
    metavar="WITHOUT WITH",
    help="Two runs over the same calls, without examples and with them: tools that lose by them get none.",
)
def examples(recordings: Sequence[Path], output: Path, gate: tuple[Path, Path] | None) -> None:
    """Write the calls that may be learnt from as examples for prompts."""
    from agentworld_sim.bench.run import examples_from, read_run, tools_that_lose
    from agentworld_sim.imagination.examples import write_examples

    found = list(examples_from(_load(recordings).transitions("train")))
    left_out = tools_that_lose(*(read_run(path)[1] for path in gate)) if gate else []
    found = [example for example in found if example.name not in left_out]
    write_examples(output, found, left_out)
    none = f"; none for {', '.join(left_out)}, which lose by them" if left_out else ""
    click.echo(f"{output}: {len(found):,} examples{none}")


@bench.command()
@recordings_argument
@click.option(
    "--output", required=True, type=FILE, help="Answers; an unfinished file is gone on with."
)
@click.option(
    "--side",
    type=click.Choice(["known", "unseen", "train"]),
    default="known",
    show_default=True,
    help="Calls of tasks that are held out, of tools that are, or those to learn from.",
)
@click.option("--most", type=click.IntRange(min=1), metavar="N", help="At most so many calls.")
@click.option("--seed", default=0, show_default=True, help="Which they are.")
@click.option("--records/--no-records", default=True, help="Whether the model is shown the state.")
@click.option(
    "--whole-sessions",
    is_flag=True,
    help="Ask all calls of a session, each after what was answered to those before it.",
)
@click.option(
    "--reasks",
    "model_reasks",
    type=click.IntRange(min=0),
    help="How often an answer that cannot be used is asked for again.",
)
@click.option(
    "--structured",
    "model_structured",
    type=click.Choice(["auto", "off"]),
    help="Whether the server holds an answer to its schema.",
)
@model_options
@asynchronous
async def run(
    recordings: Sequence[Path],
    output: Path,
    side: str,
    most: int | None,
    seed: int,
    records: bool,
    whole_sessions: bool,
    model_choice: ModelChoice,
) -> None:
    """Ask a model what the recorded environments would answer."""
    from rich.console import Console
    from rich.progress import Progress

    from agentworld_sim.bench import run as runs
    from agentworld_sim.imagination import WorldModel

    model = model_choice.require()
    # A calibration is learnt from them.
    model = WorldModel(replace(model.settings, logprobs=True))
    known = _load(recordings)
    asked = runs.draw(known, side, most, seed, whole_sessions=whole_sessions)  # pyright: ignore[reportArgumentType]
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("calls", total=len(asked))
        rows = await runs.run(
            asked,
            model.imaginer(),
            output,
            settings=runs.settings_of(model),
            with_records=records,
            whole_sessions=whole_sessions,
            on_row=lambda row: progress.advance(bar),
        )
        progress.update(bar, completed=len(asked))
    await model.close()
    right = sum(row.score.right for row in rows)
    click.echo(
        f"{output}: {right:,} of {len(rows):,} right. `agentworld bench report {output}` says more."
    )


@bench.command()
@click.argument("run_files", nargs=-1, required=True, type=RECORDED, metavar="RUN...")
@json_option
def report(run_files: Sequence[Path], as_json: bool) -> None:
    """Show what runs come to, with 95 % intervals over sessions."""
    from rich.console import Console
    from rich.table import Table

    from agentworld_sim.bench.run import figures_of, lines_of, read_run, summary_of

    found = {name: read_run(path)[1] for name, path in _by_name(run_files).items()}
    told = {name: summary_of(rows, figures_of(rows)) for name, rows in found.items()}
    if as_json:
        click.echo(json.dumps({name: one.pop("figures") | one for name, one in told.items()}))
        return
    table = Table("percent", *found)
    for line in lines_of(told.values()):
        table.add_row(*line)
    Console().print(table)


@bench.command()
@click.argument("files", nargs=-1, required=True, type=RECORDED, metavar="FILE...")
@click.option("--output", "-o", required=True, type=FILE, help="The page to write.")
def compare(files: Sequence[Path], output: Path) -> None:
    """Write a page that shows files of `agentworld evidence` side by side; it fetches nothing and runs nothing."""
    from agentworld_sim.bench.endpoint_evidence import read_evidence
    from agentworld_sim.report.evidence_page import differences, evidence_page

    read = {name: read_evidence(path) for name, path in _by_name(files).items()}
    for problem in differences(read):
        click.echo(f"warning: {problem}", err=True)
    output.write_text(evidence_page(read), encoding="utf-8")
    click.echo(output)


@bench.command()
@click.argument("run_file", type=RECORDED, metavar="RUN")
@click.option("--output", required=True, type=FILE, help="The file to write.")
def calibrate(run_file: Path, output: Path) -> None:
    """Learn from a run how sure an answer is; AGENTWORLD_CALIBRATION names the file."""
    from agentworld_sim.bench.run import read_run
    from agentworld_sim.imagination.confidence import Calibration, Signals

    about, rows = read_run(run_file)
    observed = [
        (Signals(**row.signals), row.score.right) for row in rows if row.signals is not None
    ]
    Calibration.fit(observed, run=run_file.name, **about["settings"]).write(output)
    click.echo(f"{output}: fitted on {len(observed):,} answers")


@bench.command(name="compile")
@recordings_argument
@click.option("--output", required=True, type=FILE, help="The file to write.")
@click.option(
    "--tool", "tools", multiple=True, metavar="NAME", help="One of them; may be repeated."
)
@model_options
@asynchronous
async def compile_programs(
    recordings: Sequence[Path], output: Path, tools: Sequence[str], model_choice: ModelChoice
) -> None:
    """Have a model write tools as programs, and keep those that recordings accept; AGENTWORLD_PROGRAMS
    names the file. An experiment.
    """
    from agentworld_sim.bench.program_author import compile_tools
    from agentworld_sim.engines.program import Program, write_programs
    from agentworld_sim.imagination.world_model import DEFAULT_CONTEXT_TOKENS
    from agentworld_sim.llm.chat import ChatMessage, ChatRequest

    model = model_choice.require()
    context = model.settings.context_tokens or (await model.client.served_model()).context_tokens

    async def author(messages: Sequence[ChatMessage]) -> str:
        request = ChatRequest(
            messages=tuple(messages),
            max_tokens=min(model.settings.max_tokens, (context or DEFAULT_CONTEXT_TOKENS) // 2),
            seed=0,
            thinking=model.settings.thinking,
        )
        return (await model.client.ask(request)).content

    found: dict[str, Program] = {}
    async for name, program in compile_tools(_load(recordings), author, tools):
        if isinstance(program, Program):
            found[name] = program
            click.echo(f"{name}: accepted on {program.held_out} held-out recordings")
        else:
            click.echo(f"{name}: refused, {program}")
    await model.close()
    write_programs(output, found)
    click.echo(f"{output}: {len(found)} programs")


def _load(recordings: Sequence[Path]) -> TransitionSet:
    from agentworld_sim.bench.transitions import TransitionSet

    return TransitionSet.load(recordings)


def _by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Files by their names, or by their paths where names are equal."""
    names = {path.stem: path for path in paths}
    return names if len(names) == len(paths) else {str(path): path for path in paths}
