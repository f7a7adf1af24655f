"""`agentworld doctor`: what a model server lacks."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from agentworld_sim.cli.options import removed_options
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.serving.doctor import Finding

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
@removed_options(
    {
        "--quick": "The checks that took long are gone too: leave the option out.",
        "--answers": "One answer is looked at: leave the option out.",
    }
)
def doctor(
    model_url: str | None, model: str | None, max_tokens: int, timeout: float, as_json: bool
) -> None:
    """Look at a model server: is it set up as worlds need it?

    Asks four questions and prints what is right, what is not, and what to do. The key is taken from
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
