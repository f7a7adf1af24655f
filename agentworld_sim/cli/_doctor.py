"""`agentworld doctor`: what a model server lacks."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.serving.doctor import Diagnosis, Finding

FAILED = 4
"""Exit code when a check failed."""

COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "skipped": "dim"}

NO_URL = (
    "there is no model URL to look at. `agentworld serve` starts a server and prints its URL; any"
    " OpenAI-compatible API will do:\n"
    "  agentworld doctor --model-url http://127.0.0.1:8000/v1\n"
    "or set AGENTWORLD_MODEL_URL (and AGENTWORLD_MODEL, AGENTWORLD_API_KEY)."
)


@click.command()
@click.option("--model-url", envvar="AGENTWORLD_MODEL_URL", metavar="URL")
@click.option("--model", envvar="AGENTWORLD_MODEL", metavar="NAME", help="The name as served.")
@click.option("--quick", is_flag=True, help="Only what every session needs; no speed, no seeds.")
@click.option(
    "--answers",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    metavar="N",
    help="How many observations to ask for.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=16),
    default=4096,
    show_default=True,
    metavar="N",
    help="Limit of each, thinking included.",
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
    model_url: str | None,
    model: str | None,
    quick: bool,
    answers: int,
    max_tokens: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Look at a model server: is it set up as worlds need it?

    Asks a handful of questions and prints what is right, what is not, and what to do. The key is taken
    from AGENTWORLD_API_KEY. Exit code 4 if a check failed.

    \b
      agentworld doctor --model-url http://127.0.0.1:8000/v1
      agentworld doctor --quick --json
    """
    if not model_url:
        raise UsageError(NO_URL)
    from agentworld_sim.serving.doctor import diagnose

    diagnosis = diagnose(
        model_url,
        model=model or None,
        api_key=os.environ.get("AGENTWORLD_API_KEY") or None,
        quick=quick,
        count=answers,
        max_tokens=max_tokens,
        timeout=timeout,
        on_finding=None if as_json else _told,
    )
    if as_json:
        click.echo(json.dumps(diagnosis.to_json(), indent=2, ensure_ascii=False))
    else:
        _print(diagnosis)
    sys.exit(0 if diagnosis.ok else FAILED)


def _told(finding: Finding) -> None:
    """On a terminal the table comes at the end, and until then what is being done is shown."""
    if sys.stderr.isatty():
        click.echo(f"{finding.check}: {finding.verdict}", err=True)


def _print(diagnosis: Diagnosis) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Piped output is for reading too: no wrapping at 80 columns there.
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for finding in diagnosis.findings:
        text = Text(finding.summary)
        if finding.advice:
            text.append(f"\n→ {finding.advice}", style="bold" if finding.verdict != "ok" else "")
        colour = COLOURS[finding.verdict]
        table.add_row(Text(finding.verdict, style=colour), Text(finding.check), text)
    console.print(table)
    console.print(
        f"{diagnosis.requests} requests, {diagnosis.prompt_tokens:,} prompt and"
        f" {diagnosis.completion_tokens:,} answer tokens",
        style="dim",
    )
