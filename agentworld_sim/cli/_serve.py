"""`agentworld serve`: start a model server with the right flags."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.serving import Environment, Obstacle, ServerCommand, Weights
    from agentworld_sim.serving.options import ServerOptions

# Loading these would load an HTTP client: `agentworld serve --help` has no need of one.
MODEL = "Qwen/Qwen-AgentWorld-35B-A3B"

POCKET_NAME = "pocket-world"
POCKET_CONTEXT = 1024
"""Tokens; its sessions have a few hundred."""

POCKET_EXTRA = ("--dtype", "float32", "--enforce-eager")
"""As it was trained; and compiling takes longer than the model is worth."""

F = TypeVar("F", bound=Callable[..., Any])


def _server_options(command: F) -> F:
    options = (
        click.option("--model", default=MODEL, show_default=True, metavar="NAME_OR_DIR"),
        click.option("--engine", type=click.Choice(["vllm", "sglang"]), default="vllm"),
        click.option(
            "--tensor-parallel-size",
            type=click.IntRange(min=1),
            default=1,
            metavar="N",
            help="GPUs that one replica is spread over.",
        ),
        click.option(
            "--data-parallel-size",
            type=click.IntRange(min=1),
            default=1,
            metavar="N",
            help="Replicas behind the one URL.",
        ),
        click.option("--host", default="127.0.0.1", show_default=True),
        click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True),
        click.option("--served-model-name", metavar="NAME", help="What requests call the model."),
        click.option(
            "--max-model-len",
            type=click.IntRange(min=1),
            metavar="TOKENS",
            help="Context length; 262144 for the default model.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_server_options
@click.option(
    "--pocket",
    is_flag=True,
    help="Serve the pocket world model of this clone: small enough for a CPU.",
)
@click.option(
    "--environment",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The Python environment that has the engine (or AGENTWORLD_SERVE_ENVIRONMENT).",
)
@click.option("--make-environment", is_flag=True, help="Make that environment if there is none.")
@click.option("--package", metavar="REQUIREMENT", help="What pip installs into a made one.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the start may take, a download of the weights included.",
)
@click.option("--force", is_flag=True, help="Start even if no GPU is found.")
@click.option("--dry-run", is_flag=True, help="Print what would be run and what is missing.")
@click.option("-v", "--verbose", is_flag=True, help="Show the server's log.")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="[-- SERVER ARGUMENTS...]")
def serve(
    environment: Path | None,
    make_environment: bool,
    package: str | None,
    timeout: float,
    force: bool,
    dry_run: bool,
    verbose: bool,
    pocket: bool,
    extra: tuple[str, ...],
    **server: Any,
) -> None:
    """Serve the language world model, and stay until Ctrl-C.

    vLLM or SGLang is started with the flags this model needs. What follows `--` goes to it as it is and
    wins over ours. A key that clients must give is taken from AGENTWORLD_API_KEY.

    \b
      agentworld serve --dry-run
      agentworld serve --make-environment
      agentworld serve --pocket
      agentworld serve --tensor-parallel-size 2
      agentworld serve --model ./weights --max-model-len 65536 -- --kv-cache-dtype fp8
    """
    from agentworld_sim.serving.options import ServerOptions

    if pocket:
        server, extra = _pocket_options(server, extra)
    options = ServerOptions(**server, extra=extra)
    plan = _plan(options, environment, make=make_environment, package=package, force=force)
    if dry_run:
        _print_plan(plan)
        return
    if plan.engine is None and make_environment and not plan.fatal:
        _make(options.engine, environment, package)
        plan = _plan(options, environment, make=False, package=package, force=force)
    for warning in plan.warnings:
        click.echo(f"warning: {warning}", err=True)
    if plan.fatal:
        raise UsageError(
            f"the server cannot be started:\n{_listed(plan.fatal)}\n"
            "`--dry-run` shows what would be run."
        )
    prompts = Path(options.model) / "prompts" if pocket else None
    sys.exit(_run(plan.command, timeout, verbose=verbose, prompts=prompts))


def _pocket_options(
    server: dict[str, Any], extra: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What serves the pocket world model, except where something else was asked for."""
    if server["model"] != MODEL:
        raise UsageError(
            f"--pocket serves the pocket world model, and --model names {server['model']!r}. Leave one"
            " of them out."
        )
    folder = Path(__file__).resolve().parents[2] / "fixtures" / POCKET_NAME
    if (folder / "prompts").is_dir() and not (folder / "config.json").is_file():
        raise UsageError(
            f"the pocket world model is not in {str(folder)!r}. Build it there, in some minutes, with"
            " `python -m agentworld_trainers.pocket.rebuild` (needs the extra `train`)."
        )
    if not folder.is_dir():
        raise UsageError(
            "the pocket world model comes with a clone of the repository, not with an installed"
            f" package, and there is none in {str(folder)!r}. Install a clone with `pip install -e .`,"
            " or name the folder of a model with --model."
        )
    usual = {"served_model_name": POCKET_NAME, "max_model_len": POCKET_CONTEXT}
    chosen = {name: server[name] or value for name, value in usual.items()}
    return {**server, **chosen, "model": str(folder)}, (*POCKET_EXTRA, *extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    command: ServerCommand
    engine: Environment | None
    fatal: list[str]
    warnings: list[str]


def _plan(
    options: ServerOptions,
    folder: Path | None,
    *,
    make: bool,
    package: str | None,
    force: bool,
) -> _Plan:
    from agentworld_sim import serving
    from agentworld_sim.serving.environments import python_of

    weights = serving.find_weights(options.model)
    engine, missing = None, list[str]()
    try:
        engine = serving.find_environment(options.engine, folder=folder)
    except serving.NoEnvironment as error:
        missing = [] if make else [f"package: {error}"]
    python = engine.python if engine else python_of(_folder(options.engine, folder))
    cpu = engine.is_cpu_build if engine else "-cpu" in (package or "")
    command = serving.build_command(options, python=python, weights=weights, cpu=cpu)
    obstacles = serving.find_obstacles(
        options,
        weights,
        engine,
        host=command.host,
        port=command.port,
        cpu=cpu,
    )
    return _Plan(
        command=command,
        engine=engine,
        fatal=missing + [one.text for one in obstacles if _stops(one, force=force)],
        warnings=[one.text for one in obstacles if not _stops(one, force=force)]
        + _unsure(weights, command),
    )


def _stops(obstacle: Obstacle, *, force: bool) -> bool:
    return obstacle.fatal and not (force and obstacle.text.startswith("GPU"))


def _unsure(weights: Weights, command: ServerCommand) -> list[str]:
    if weights.thinks_like_qwen or "--reasoning-parser" in command.argv:
        return []
    return [
        (
            f"{weights.model} does not look like a Qwen3 model, so no reasoning parser is set. If it"
            " thinks before it answers, name its parser with `-- --reasoning-parser NAME`."
        )
    ]


def _folder(engine: Any, folder: Path | None) -> Path:
    from agentworld_sim.serving import default_folder
    from agentworld_sim.serving.environments import VARIABLE

    named = folder or os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else default_folder(engine)


def _print_plan(plan: _Plan) -> None:
    for variable in plan.command.shown_variables():
        click.echo(variable)
    if plan.command.key_file:
        click.echo("# and --config FILE, a file only you can read, with the key")
    click.echo(plan.command.shown())
    if plan.engine is not None:
        click.echo(f"engine: {plan.engine}", err=True)
    for text in plan.fatal:
        click.echo(f"missing: {text}", err=True)
    for text in plan.warnings:
        click.echo(f"warning: {text}", err=True)


def _listed(texts: list[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _make(engine: Any, folder: Path | None, package: str | None) -> None:
    from agentworld_sim.serving import make_environment

    path = _folder(engine, folder)
    with _progress(f"making the environment {path}") as show:
        made = make_environment(engine, folder=path, requirement=package, on_line=show)
    click.echo(f"installed {made}", err=True)


def _run(
    command: ServerCommand, timeout: float, *, verbose: bool, prompts: Path | None = None
) -> int:
    from agentworld_sim.serving import ModelServer
    from agentworld_sim.store.home import home

    log = home() / "serving" / f"{command.port}.log"
    with _signals_as_exits():
        server = ModelServer(
            command, timeout=timeout, log_file=log, on_line=_to_stderr if verbose else None
        )
        try:
            with _progress(f"starting {command.served_model_name}") as show:
                server.on_phase = show
                server.start()
                server.wait_until_healthy()
            # At once, so that whoever reads the first line has the others.
            click.echo(
                f"serving {server.model} at {server.url}\n"
                f"export AGENTWORLD_MODEL_URL={shlex.quote(server.url)}\n"
                f"export AGENTWORLD_MODEL={shlex.quote(server.model)}"
                + (f"\nexport AGENTWORLD_PROMPTS={shlex.quote(str(prompts))}" if prompts else "")
            )
            click.echo(f"(Ctrl-C stops it; log: {log})", err=True)
            sys.stdout.flush()
            server.join()
        except KeyboardInterrupt:
            click.echo("stopping …", err=True)
            return 130
        finally:
            server.stop()
    return 0


def _to_stderr(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _signals_as_exits() -> Generator[None]:
    """A request to end leaves by the same way as Ctrl-C, so that the server is stopped."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _progress(what: str) -> Generator[Callable[[str], None]]:
    """Shows what goes on: one moving line on a terminal, a line for each step elsewhere."""
    if not sys.stderr.isatty():
        click.echo(f"{what} …", err=True)
        yield lambda text: click.echo(f"  {text}", err=True)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what)

        def show(text: str) -> None:
            # Markup is what a line in brackets would be taken for.
            shown = text.replace("[", r"\[")[:80]
            progress.update(task, description=f"{what}: {shown}")

        yield show
