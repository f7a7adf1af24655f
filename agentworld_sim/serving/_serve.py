"""The short way to a running model server, for tests and scripts."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from agentworld_sim.errors import UsageError
from agentworld_sim.serving._command import build_command
from agentworld_sim.serving._missing import find_obstacles
from agentworld_sim.serving._server import ModelServer
from agentworld_sim.serving._weights import find_weights
from agentworld_sim.serving.environments import find_environment
from agentworld_sim.serving.options import DEFAULT_MODEL, Engine, ServerOptions


@contextmanager
def serve(
    model: str | os.PathLike[str] = DEFAULT_MODEL,
    *,
    engine: Engine = "vllm",
    environment: str | os.PathLike[str] | None = None,
    port: int | None = None,
    served_model_name: str | None = None,
    max_model_len: int | None = None,
    tensor_parallel_size: int = 1,
    extra: Sequence[str] = (),
    timeout: float = 3600.0,
) -> Generator[ModelServer]:
    """Serves a model for as long as the block lasts.

        with serve("./tiny", environment=".venv-vllm", extra=["--enforce-eager"]) as server:
            ask(server.url, server.model)

    Args:
        model: A folder with weights, or a name on the Hugging Face hub.
        engine: `vllm` or `sglang`.
        environment: The Python environment that has it; looked for by default.
        port: Where it listens on 127.0.0.1; a free one by default.
        served_model_name: What requests call the model; `model` by default.
        max_model_len: Tokens of context.
        tensor_parallel_size: GPUs it is spread over.
        extra: Arguments for the server as they are.
        timeout: Seconds until it must be healthy.

    Raises:
        UsageError: it cannot be started; the message says what is missing.
        ServerFailure: it did not come up.
    """
    options = ServerOptions(
        model=os.fspath(model),
        engine=engine,
        port=port if port is not None else free_port(),
        served_model_name=served_model_name,
        max_model_len=max_model_len,
        tensor_parallel_size=tensor_parallel_size,
        extra=tuple(extra),
    )
    weights = find_weights(options.model)
    found = find_environment(engine, folder=environment)
    fatal = [one.text for one in find_obstacles(options, weights, found) if one.fatal]
    if fatal:
        raise UsageError("\n".join(fatal))
    command = build_command(options, python=found.python, weights=weights, cpu=found.is_cpu_build)
    with ModelServer(command, timeout=timeout) as server:
        yield server


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
