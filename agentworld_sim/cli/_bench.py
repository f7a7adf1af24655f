"""`agentworld bench`: how right imagined answers are, against environments that are code."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from agentworld_sim.cli._bench_rows import (
    by_name,
    judge,
    luck,
    report_rows,
    run_rows,
    score,
    spending_options,
)
from agentworld_sim.cli._transfer import transfer
from agentworld_sim.cli.command_options import (
    COUNT,
    EXISTING_FILE,
    FILE,
    ModelChoice,
    asynchronous,
    json_option,
    model_options,
)
from agentworld_sim.cli.terminal_output import print_table, progress_bar
from agentworld_sim.errors import UsageError

_OF_RECORDINGS = ("side", "records", "whole_sessions", "model_reasks", "model_structured")
_OF_ROWS = ("history", "scenario", "recorded", "concurrency", "budget", "price")
"""Options of `run` for either kind of file."""

_OF_REQUESTS = {"model_max_tokens", "model_thinking", "model_thinking_tokens"}
"""Those that say how a model is asked which is sent a row as it is."""

recordings_argument = click.argument(
    "recordings", nargs=-1, required=True, type=EXISTING_FILE, metavar="RECORDING..."
)


@click.group()
def bench() -> None:
    """Measure how right a world model's answers are: against environments that are code, or by a judge.

    \b
      agentworld bench make bfcl --environment .venv-bfcl
      agentworld bench run bfcl.jsonl --output run.jsonl --model-url http://127.0.0.1:8000/v1
      agentworld bench report run.jsonl
      agentworld bench compare evidence.json hosted.json --output page.html
    \b
    AgentWorldBench, or rows of your own in its form:
      agentworld bench run terminal_test.jsonl --output run.jsonl --model-url http://127.0.0.1:8000/v1
      agentworld bench judge run.jsonl terminal_test.jsonl --judge-url https://api.openai.com/v1 --judge NAME
      agentworld bench score run.jsonl
      agentworld bench report run.jsonl --output page.html
    \b
    Tasks that are solved in a world and replayed in the real thing:
      agentworld bench transfer --output transfer.jsonl
    """


for command in (judge, luck, score, transfer):
    bench.add_command(command)


@bench.command()
@click.argument("source", metavar="SOURCE")
@click.argument("files", nargs=-1, type=EXISTING_FILE, metavar="[FILE...]")
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
@click.option(
    "--server", metavar="COMMAND", help="For `mcp TASKS`: your server, as `bench transfer` has it."
)
def make(
    source: str,
    files: Sequence[Path],
    environment: Path | None,
    output: Path | None,
    seed: int,
    server: str | None,
) -> None:
    """Record the transitions of an environment that is code, or of real tools.

    \b
    computed                    worlds of this library; nothing has to be installed
    controlled                  the same under controls, with verifiers of who obeys them
    shell [COMMANDS...]         a real bash of this machine in a jail: drawn commands, or those in files
    recorded CASSETTE...        calls of real tools, as `agentworld mcp --record` wrote them
    mcp [TASKS]                 a real MCP server in which tasks are done: the shipped one, or yours
    browser                     Chromium on the pages of the shipped tasks
    envsimbench ROWS...         files of EnvSimBench
    bfcl, tau2-airline,         } tasks of a package, played in
    tau2-retail, tau2-telecom   } the Python environment that has it
    """
    from agentworld_sim.bench import make as recording
    from agentworld_sim.bench.transitions import TransitionSet

    output = output or Path(f"{source}.jsonl")
    reads = source in ("recorded", "envsimbench")
    if (reads and not files) or (files and not reads and source not in ("shell", "mcp")):
        raise UsageError(
            "`recorded` takes the cassettes to read, `envsimbench` files of rows, `shell` files of commands, `mcp` a"
            " file of tasks; no other source takes files."
        )
    if (source == "mcp" and len(files) != bool(server)) or (server and source != "mcp"):
        raise UsageError("--server and one file of tasks belong together, and to the source `mcp`.")
    if environment and source in recording.OWN_SOURCES:
        raise UsageError(f"{source!r} needs no Python environment: leave out --environment.")
    if source in ("computed", "controlled"):
        from agentworld_sim.bench.computed_worlds import record, record_controlled

        (record if source == "computed" else record_controlled)(seed).write(output)
    elif source == "shell":
        from agentworld_sim.bench.shell_recording import record_shell

        record_shell(files, seed).write(output)
    elif source == "recorded":
        from agentworld_sim.bench.cassette_source import read_cassettes

        read_cassettes(files).write(output)
    elif source == "envsimbench":
        recording.convert(files, output)
    elif source in ("mcp", "browser"):
        from agentworld_sim.bench.real_recording import record_tasks
        from agentworld_sim.bench.transfer.task_list import own_tasks, shipped_tasks

        shipped = shipped_tasks("mcp" if source == "mcp" else "web")
        tasks = own_tasks(files[0]) if files else shipped
        asyncio.run(record_tasks(tasks, shlex.split(server or ""))).write(output)
    else:
        recording.make(source, environment and environment.absolute(), output, seed=seed)
    found = list(TransitionSet.load([output]).transitions())
    sides = {side: sum(one.side == side for one in found) for side in ("train", "known", "unseen")}
    about = {name: f" Licence: {one.licence}." for name, one in recording.SOURCES.items()}
    if not any(one.session.has_state for one in found):
        about[source] = " What they changed is not known: answers alone will be scored."
    click.echo(
        f"{output}: {len(found):,} transitions, {sides['train']:,} to learn from, {sides['known']:,} of other"
        f" tasks, {sides['unseen']:,} of other tools.{about.get(source, '')}"
    )


@bench.command()
@recordings_argument
@click.option("--output", required=True, type=FILE, help="The file to write.")
@click.option(
    "--gate",
    nargs=2,
    type=EXISTING_FILE,
    metavar="WITHOUT WITH",
    help="Two runs over the same calls, without examples and with them: tools that lose by them get none.",
)
def examples(recordings: Sequence[Path], output: Path, gate: tuple[Path, Path] | None) -> None:
    """Write the calls that may be learnt from as examples for prompts."""
    from agentworld_sim.bench.run import examples_from, read_run, tools_that_lose
    from agentworld_sim.bench.transitions import TransitionSet
    from agentworld_sim.imagination.examples import write_examples

    found = list(examples_from(TransitionSet.load(recordings).transitions("train")))
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
@click.option("--most", type=COUNT, metavar="N", help="At most so many calls, rows or sessions.")
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
@click.option(
    "--history",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Whether a model is told the earlier turns of a row.",
)
@click.option(
    "--scenario",
    metavar="FILE",
    help="A world that begins so answers rows, and computes what it can.",
)
@click.option("--recorded", is_flag=True, help="Take the replies that rows bring (`gen`).")
@spending_options
@click.option(
    "--ray",
    "address",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Answer rows or play sessions on a Ray cluster; on one of this machine without an address.",
)
@model_options
@click.pass_context
@asynchronous
async def run(
    context: click.Context,
    recordings: Sequence[Path],
    output: Path,
    side: str,
    most: int | None,
    seed: int,
    records: bool,
    whole_sessions: bool,
    address: str | None,
    model_choice: ModelChoice,
    **for_rows: Any,
) -> None:
    """Ask a model what the recorded environments would answer.

    Rows in AgentWorldBench form are known by their fields; a world or the rows themselves can answer them, too.
    """
    from agentworld_sim.bench.run_file import RECORDINGS, ROWS, file_kind, require_kind

    kinds = {file_kind(path) for path in recordings}
    if not kinds & {ROWS, RECORDINGS}:
        require_kind(recordings[0], f"{ROWS} or {RECORDINGS}")
    if kinds >= {ROWS, RECORDINGS}:
        raise UsageError(f"{ROWS} and {RECORDINGS} are no one run: give files of one kind.")
    of_models = {f"model_{name}" for name in model_choice.settings}
    what, ignored = f"for {ROWS}", {*_OF_RECORDINGS, *of_models} - _OF_REQUESTS
    if ROWS not in kinds:
        what, ignored = f"for {RECORDINGS}", {*_OF_ROWS}
    elif for_rows["recorded"]:
        ignored |= {*of_models, "scenario", "history", "model_url", "model_name"}
        what = "with --recorded"
    elif for_rows["scenario"]:
        what, ignored = "with --scenario", {*_OF_RECORDINGS, "history"}
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if option.name in ignored and given is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(f"{option.opts[0]} means nothing {what}. Leave it out.")
    if ROWS in kinds:
        await run_rows(
            recordings,
            output,
            most=most,
            seed=seed,
            model_choice=model_choice,
            address=address,
            **for_rows,
        )
        return
    from agentworld_sim.bench import run as runs
    from agentworld_sim.bench.transitions import TransitionSet
    from agentworld_sim.imagination import WorldModel

    model = model_choice.require()
    # A calibration is learnt from them.
    model = WorldModel(replace(model.settings, logprobs=True))
    known = TransitionSet.load(recordings)
    asked = runs.draw(known, side, most, seed, whole_sessions=whole_sessions)  # pyright: ignore[reportArgumentType]
    if not asked:
        sides = ", ".join(sorted({one.side for one in known.transitions()}))
        raise UsageError(
            f"nothing is on the side {side!r}. Sides that have calls: {sides or 'none'}."
        )
    async with AsyncExitStack() as stack:
        more: dict[str, Any] = {}
        if address is not None:
            from agentworld_sim.bench.ray_cluster import ModelPlay, on_ray

            play = ModelPlay(model, records, whole_sessions, seed=0)
            elsewhere, at_once = await stack.enter_async_context(on_ray(play, address=address))
            more = {"elsewhere": elsewhere, "sessions_at_once": at_once}
        rows = await runs.run(
            asked,
            model.imaginer(),
            output,
            settings=runs.settings_of(model),
            with_records=records,
            whole_sessions=whole_sessions,
            on_row=stack.enter_context(progress_bar("calls", len(asked))),
            **more,
        )
    await model.close()
    right = sum(row.score.right for row in rows)
    click.echo(
        f"{output}: {right:,} of {len(rows):,} right. `agentworld bench report {output}` says more."
    )


@bench.command()
@click.argument("run_files", nargs=-1, required=True, type=EXISTING_FILE, metavar="RUN...")
@click.option(
    "--output", "-o", type=FILE, help="A page or a Markdown file, for runs over rows: .html or .md."
)
@json_option
def report(run_files: Sequence[Path], output: Path | None, as_json: bool) -> None:
    """Show what runs come to, with 95 % intervals over sessions."""
    from agentworld_sim.bench.run_file import ROW_RUN, file_kind

    if file_kind(run_files[0]) == ROW_RUN:
        report_rows(run_files, output, as_json=as_json)
        return
    if output is not None:
        raise UsageError("--output is for runs over rows; `agentworld bench compare` writes pages.")
    from agentworld_sim.bench.run import figures_of, lines_of, read_run, summary_of

    found = {name: read_run(path)[1] for name, path in by_name(run_files).items()}
    told = {name: summary_of(rows, figures_of(rows)) for name, rows in found.items()}
    if as_json:
        click.echo(json.dumps({name: one.pop("figures") | one for name, one in told.items()}))
        return
    print_table(["percent", *found], lines_of(told.values()))


@bench.command()
@click.argument("files", nargs=-1, required=True, type=EXISTING_FILE, metavar="FILE...")
@click.option("--output", "-o", required=True, type=FILE, help="The page to write.")
def compare(files: Sequence[Path], output: Path) -> None:
    """Write a page that shows files of `agentworld evidence` side by side; it fetches nothing and runs nothing."""
    from agentworld_sim.bench.endpoint_evidence import read_evidence
    from agentworld_sim.cassette.file import write_file
    from agentworld_sim.report.evidence_page import differences, evidence_page

    read = {name: read_evidence(path) for name, path in by_name(files).items()}
    for problem in differences(read):
        click.echo(f"warning: {problem}", err=True)
    write_file(output, evidence_page(read))
    click.echo(output)


@bench.command()
@click.argument("run_file", type=EXISTING_FILE, metavar="RUN")
@click.option("--output", "-o", type=FILE, help="A page with a plot to write.")
@json_option
def thinking(run_file: Path, output: Path | None, as_json: bool) -> None:
    """Count self-corrections, leak prevention and causal chains in what a model thought."""
    from agentworld_sim.bench.run import read_run
    from agentworld_sim.bench.thinking import by_length, counts_of, traces_of
    from agentworld_sim.cassette.file import write_file
    from agentworld_sim.report.chart import chart
    from agentworld_sim.report.html_page import page

    traces = traces_of(read_run(run_file)[1])
    if not traces:
        raise UsageError(
            f"{str(run_file)!r} has no thinking: its model does not think, or --no-thinking forbade it."
        )
    counts = counts_of(traces)
    if output:
        plot = chart("Thinking", "words of thinking", "traces that have it, %", by_length(traces))
        write_file(output, page(f"What {run_file.name} thought", plot))
    if as_json:
        click.echo(json.dumps({"traces": len(traces), **counts}))
        return
    print_table(
        [f"{len(traces):,} traces", "have it, %", "times a trace", "words each"],
        ([kind, *(f"{value:.3g}" for value in one.values())] for kind, one in counts.items()),
    )


@bench.command()
@click.argument("run_file", type=EXISTING_FILE, metavar="RUN")
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
    from agentworld_sim.bench.transitions import TransitionSet
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
    async for name, program in compile_tools(TransitionSet.load(recordings), author, tools):
        if isinstance(program, Program):
            found[name] = program
            click.echo(f"{name}: accepted on {program.held_out} held-out recordings")
        else:
            click.echo(f"{name}: refused, {program}")
    await model.close()
    write_programs(output, found)
    click.echo(f"{output}: {len(found)} programs")
