"""What serving a model takes here: the command, what is missing, what may go wrong."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from agentworld_sim.serving._command import ServerCommand, build_command
from agentworld_sim.serving._environment import find_environment
from agentworld_sim.serving._memory import find_gpus, memory_warnings
from agentworld_sim.serving._weights import find_weights
from agentworld_sim.serving.options import ServerOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan:
    """A command that was not run yet."""

    command: ServerCommand
    engine: str
    """The distribution that is started, with its version; empty if there is none."""
    missing: str
    """Why the engine is not there, and how to install it; empty if it is."""
    warnings: tuple[str, ...]
    """What may make the start fail, with numbers, and what to do."""


def plan_server(
    options: ServerOptions, environment: str | os.PathLike[str] | None = None
) -> ServerPlan:
    """Looks at this machine and builds the command. Starts nothing.

    Args:
        options: What is asked for.
        environment: The Python environment that has the engine; by default the one that
            AGENTWORLD_SERVE_ENVIRONMENT names, else this process's own.

    Raises:
        UsageError: an option cannot be right.
    """
    weights = find_weights(options.model)
    found = find_environment(options.engine, environment)
    command = build_command(options, python=found.python, weights=weights, cpu=found.is_cpu_build)
    warnings: list[str] = []
    if not found.is_cpu_build:
        # There are cards of another maker where this exists; nothing more is known of them.
        other = Path("/dev/kfd").exists()
        warnings += memory_warnings(options, weights, find_gpus(), other=other)
    if not weights.thinks_like_qwen and "--reasoning-parser" not in command.argv:
        warnings.append(
            f"{weights.model} does not look like a Qwen3 model, so no reasoning parser is set. If it"
            " thinks before it answers, name its parser with `-- --reasoning-parser NAME`."
        )
    return ServerPlan(
        command=command,
        engine=f"{found.distribution} {found.version}".strip(),
        missing=found.missing,
        warnings=tuple(warnings),
    )
