"""The command group: what exists, and how errors leave."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Any, NoReturn

import click

from agentworld_sim._version import __version__
from agentworld_sim.errors import AgentworldError, nearest

COMMANDS = {
    "bench": "agentworld_sim.cli._bench:bench",
    "controls": "agentworld_sim.cli._controls:controls",
    "doctor": "agentworld_sim.cli._model_server:doctor",
    "evidence": "agentworld_sim.cli._evidence:evidence",
    "fiction": "agentworld_sim.cli._fiction:fiction",
    "machine": "agentworld_sim.cli._machine_packages:machine",
    "prompt": "agentworld_sim.cli._prompt:prompt",
    "proxy": "agentworld_sim.cli._proxy:proxy",
    "serve": "agentworld_sim.cli._model_server:serve",
    "shell": "agentworld_sim.cli._shell:shell",
    "version": "agentworld_sim.cli._main:version",
    "web": "agentworld_sim.cli._web:web",
    "world": "agentworld_sim.cli._world:world",
}
"""Loaded when called, so that `agentworld version` waits for nothing."""

SUMMARIES = {
    "bench": "Measure how right a world model's answers are: against environments that are code, or by a judge.",
    "controls": "List faults that a world enforces, and propose some for an agent.",
    "demo": "Watch an agent mend a Python package in a machine that does not exist.",
    "doctor": "Look at a model server: is it set up as worlds need it?",
    "evidence": "Measure an endpoint into one file: the doctor, the ladder, every answer.",
    "fiction": "Build fictional worlds, and questions about them with their proofs.",
    "machine": "What simulated machines are given: packages for their Python.",
    "mcp": "Mirror MCP servers and answer their tools from a world.",
    "prompt": "See what the language world model was asked, and what it said.",
    "proxy": "Stand between an agent and its model, on this host, and let faults strike its calls.",
    "serve": "Serve the language world model, and stay until Ctrl-C.",
    "shell": "A shell in a simulated Debian machine.",
    "train": "Train world models, and agents in worlds.",
    "version": "Print the versions that matter in a bug report.",
    "web": "Serve the internet of a world to real browsers and programs, and stay until Ctrl-C.",
    "world": "List, look into, compare, fork, put back and remove kept worlds.",
}
"""What `--help` says of commands without loading them; those of others are loaded for it."""

ENTRY_POINTS = "agentworld.commands"
"""Group in which the other packages register theirs."""

INTERRUPTED = 130
"""Exit code of a command ended by Ctrl-C."""


class _LazyGroup(click.Group):
    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Runs the command and exits.

        Exit codes: 0 fine, 2 the user's mistake, 3 access refused, 4 the world failed, 130 interrupted;
        `agentworld shell -c` gives the command's own.
        """
        try:
            run: Any = super().main
            code = run(*arguments, **{**options, "standalone_mode": False})
        except AgentworldError as error:
            click.echo(f"agentworld: {error}", err=True)
            code = error.exit_code
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            click.echo(f"agentworld: {error.filename}: {error.strerror}.", err=True)
            code = 2
        except (click.exceptions.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except BrokenPipeError:
            # The reader of our output has left; there is nobody to tell.
            sys.stderr.close()
            code = 141
        sys.exit(code if isinstance(code, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *metadata.entry_points(group=ENTRY_POINTS).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name].partition(":")
            return getattr(import_module(module), attribute)
        for entry in metadata.entry_points(group=ENTRY_POINTS, name=cmd_name):
            return entry.load()
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: list[tuple[str, str]] = []
        for name in self.list_commands(ctx):
            summary = SUMMARIES.get(name)
            if summary is None and (command := self.get_command(ctx, name)) is not None:
                summary = command.get_short_help_str()
            rows.append((name, summary or ""))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            # click compares with the commands it holds, and these are loaded only when called.
            name = args[0]
            if self.get_command(ctx, name) is not None or name.startswith("-"):
                raise
            known = self.list_commands(ctx)
            raise click.UsageError(
                f"No such command {name!r}.{nearest(name, known)} There are: {', '.join(known)}.",
                ctx,
            ) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Simulated worlds for agents.

    An agent keeps its own tools; the world behind them becomes simulated: shell, files and MCP
    servers are answered by a world that can be forked, replayed and looked into.

    \b
    Try:
      agentworld demo                          a scripted agent mends a Python package
      agentworld shell                         a shell in a simulated machine
      agentworld shell -c 'uname -a; ls -la'   like bash -c, and nothing here is touched
      agentworld shell --from . --world mine   your folder as a world that is kept
      agentworld world diff mine --patch       what was changed in it
      agentworld mcp -- some-mcp-server        the server's tools, simulated
      agentworld serve --dry-run               what serving the world model takes
      agentworld doctor                        whether a model server is set up for it
      agentworld prompt show mine              what the model was asked, and what it said
      agentworld train recipes                 world models and agents that can be trained

    \b
    Shell completion:
      eval "$(_AGENTWORLD_COMPLETE=bash_source agentworld)"     (or zsh_source, fish_source)
    """


@click.command()
def version() -> None:
    """Print the versions that matter in a bug report."""
    import platform

    click.echo(f"agentworld-sim {__version__}")
    click.echo(f"python {platform.python_version()}")
    for package in ("bashkit", "langgraph", "langchain-core", "mcp"):
        try:
            click.echo(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            click.echo(f"{package} not installed")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command and exits."""
    # Most of what a short command makes is modules, which are no garbage.
    gc.set_threshold(20_000)
    # What is left goes with the process: looking through it for cycles takes a fifth of a short command.
    atexit.register(gc.freeze)
    cli.main(args=arguments, prog_name="agentworld")
