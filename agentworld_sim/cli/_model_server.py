"""`agentworld serve`, which becomes a model server with the right flags, and `agentworld doctor`: what one lacks."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.errors import UsageError
from agentworld_sim.serving.options import (
    DEFAULT_MODEL,
    DEFAULT_PORT,
    ENGINES,
    ServerOptions,
)

if TYPE_CHECKING:
    from agentworld_sim.serving.doctor import Finding


POCKET_NAME = "pocket-world"
POCKET_CONTEXT = 1024
"""Tokens; its sessions have a few hundred."""

POCKET_EXTRA = ("--dtype", "float32", "--enforce-eager")
"""As it was trained; and compiling takes longer than the model is worth."""

COUNT = click.IntRange(min=1)


@click.command()
@click.option("--model", default=DEFAULT_MODEL, show_default=True, metavar="NAME_OR_DIR")
@click.option("--engine", type=click.Choice(ENGINES), default="vllm")
@click.option(
    "--tensor-parallel-size",
    type=COUNT,
    default=1,
    metavar="N",
    help="GPUs that one replica is spread over.",
)
@click.option(
    "--data-parallel-size", type=COUNT, default=1, metavar="N", help="Replicas behind the one URL."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True)
@click.option("--served-model-name", metavar="NAME", help="What requests call the model.")
@click.option(
    "--max-model-len",
    type=COUNT,
    metavar="TOKENS",
    help="Context length; 262144 for the default model.",
)
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
@click.option("--dry-run", is_flag=True, help="Print what would be run and what is missing.")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="[-- SERVER ARGUMENTS...]")
def serve(
    environment: Path | None, dry_run: bool, pocket: bool, extra: tuple[str, ...], **server: Any
) -> None:
    """Serve the language world model, and stay until Ctrl-C.

    Becomes vLLM or SGLang, with the flags this model needs. What follows `--` goes to it as it is and
    wins over ours. A key that clients must give is taken from AGENTWORLD_API_KEY.

    \b
      agentworld serve --dry-run
      agentworld serve --environment .venv-vllm
      agentworld serve --pocket
      agentworld serve --tensor-parallel-size 2
      agentworld serve --model ./weights --max-model-len 65536 -- --kv-cache-dtype fp8
    """
    from agentworld_sim.serving import plan_server

    if pocket:
        server, extra = _pocket_options(server, extra)
    options = ServerOptions(**server, extra=extra)
    plan = plan_server(options, environment)
    command = plan.command
    for warning in plan.warnings:
        click.echo(f"warning: {warning}", err=True)
    if dry_run:
        click.echo("\n".join([*command.shown_variables(), shlex.join(command.argv)]))
        click.echo(
            f"missing: {plan.missing}" if plan.missing else f"engine: {plan.engine}", err=True
        )
        return
    if plan.missing:
        raise UsageError(f"{plan.missing} `--dry-run` shows what would be run.")
    prompts = [f"AGENTWORLD_PROMPTS={shlex.quote(f'{options.model}/prompts')}"] if pocket else []
    click.echo(
        f"{command.model} will answer at {command.url}. Clients want:\n"
        + "".join(
            f"export {variable}\n"
            for variable in (
                f"AGENTWORLD_MODEL_URL={shlex.quote(command.url)}",
                f"AGENTWORLD_MODEL={shlex.quote(command.model)}",
                *prompts,
            )
        ),
        nl=False,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        # Signals, log and exit code are the server's own from here on.
        os.execvpe(command.argv[0], command.argv, command.environment(os.environ))
    except OSError as error:
        raise UsageError(f"{command.argv[0]}: {error.strerror}.") from None


def _pocket_options(
    server: dict[str, Any], extra: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What serves the pocket world model, except where something else was asked for."""
    if server["model"] != DEFAULT_MODEL:
        raise UsageError(
            f"--pocket serves the pocket world model, and --model names {server['model']!r}. Leave one"
            " of them out."
        )
    folder = Path(__file__).resolve().parents[2] / "fixtures" / POCKET_NAME
    if (folder / "prompts").is_dir() and not (folder / "config.json").is_file():
        raise UsageError(
            f"the pocket world model is not in {str(folder)!r}. Build it there, in some minutes, with"
            " `python -m experiments.pocket.rebuild` (needs the extra `train`)."
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


FAILED = 4
"""Exit code when a check failed."""

COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}

NO_URL = (
    "there is no model URL to look at. `agentworld serve` starts a server and prints its URL; any"
    " OpenAI-compatible API will do:\n"
    "  agentworld doctor --model-url http://127.0.0.1:8000/v1\n"
    "or set AGENTWORLD_MODEL_URL (and AGENTWORLD_MODEL, AGENTWORLD_API_KEY)."
)


@click.command()
@click.option("--model-url", envvar="AGENTWORLD_MODEL_URL", metavar="URL")
@click.option("--model", envvar="AGENTWORLD_MODEL", metavar="NAME", help="The name as served.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=16),
    default=4096,
    show_default=True,
    metavar="N",
    help="Limit of each answer, thinking included.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def doctor(
    model_url: str | None, model: str | None, max_tokens: int, timeout: float, as_json: bool
) -> None:
    """Look at a model server: is it set up as worlds need it?

    Asks six questions and prints what is right, what is not, and what to do. The key is taken from
    AGENTWORLD_API_KEY. Exit code 4 if a check failed.

    \b
      agentworld doctor --model-url http://127.0.0.1:8000/v1
      agentworld doctor --json
    """
    if not model_url:
        raise UsageError(NO_URL)
    from agentworld_sim.serving.doctor import diagnose

    diagnosis = diagnose(
        model_url,
        model=model,
        api_key=os.environ.get("AGENTWORLD_API_KEY"),
        max_tokens=max_tokens,
        timeout=timeout,
        on_finding=None if as_json else _print,
    )
    if as_json:
        click.echo(json.dumps(diagnosis.to_json(), indent=2, ensure_ascii=False))
    sys.exit(0 if diagnosis.ok else FAILED)


def _print(finding: Finding) -> None:
    verdict = click.style(f"{finding.verdict:<9}", fg=COLOURS[finding.verdict])
    click.echo(f"{verdict}{finding.check:<19}{finding.summary}")
    if finding.advice:
        click.echo(f"{'':28}→ {finding.advice}")
