"""What a user says about the server that is to be started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Engine = Literal["vllm", "sglang"]

ENGINES: tuple[Engine, ...] = ("vllm", "sglang")

REQUIREMENTS: Mapping[Engine, str] = {"vllm": "vllm>=0.32,<0.34", "sglang": "sglang>=0.5.20"}
"""vLLM 0.32 is the release we test against; it says that the module we start it by may go one day."""

DEFAULT_MODEL = "Qwen/Qwen-AgentWorld-35B-A3B"

DEFAULT_CONTEXT = 262_144
"""Tokens of context of the default model (its model card)."""

DEFAULT_PORT = 8000

_SYNONYMS = {
    "-tp": "--tensor-parallel-size",
    "--tp": "--tensor-parallel-size",
    "--tp-size": "--tensor-parallel-size",
    "-dp": "--data-parallel-size",
    "--dp": "--data-parallel-size",
    "--dp-size": "--data-parallel-size",
    "--model-path": "--model",
    "--context-length": "--max-model-len",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """A model server, as it is asked for."""

    model: str = DEFAULT_MODEL
    """A name on the Hugging Face hub, or a folder with weights."""
    engine: Engine = "vllm"
    tensor_parallel_size: int = 1
    """GPUs that one replica is spread over."""
    data_parallel_size: int = 1
    """Replicas behind the one URL."""
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    served_model_name: str | None = None
    """What requests call the model; `model` by default."""
    max_model_len: int | None = None
    """Tokens of context; the default model's own where that one is served."""
    extra: tuple[str, ...] = ()
    """Arguments handed to the server as they are. They win over ours."""

    @property
    def context(self) -> int | None:
        """Tokens of context that are asked for; `None` for those of the model's config."""
        return self.max_model_len or (DEFAULT_CONTEXT if self.model == DEFAULT_MODEL else None)


def flags_in(extra: Sequence[str]) -> dict[str, str]:
    """The flags among extra arguments, in one spelling, each with the value after it if any."""
    given: dict[str, str] = {}
    for index, part in enumerate(extra):
        if not part.startswith("-") or part.lstrip("-")[:1].isdigit():
            continue
        flag, equals, value = part.partition("=")
        following = extra[index + 1] if index + 1 < len(extra) else ""
        given[canonical_flag(flag)] = value if equals or following.startswith("-") else following
    return given


def canonical_flag(flag: str) -> str:
    """One spelling of a flag of vLLM or SGLang that has several."""
    flag = flag.replace("_", "-")
    if flag.startswith("--no-"):
        flag = f"--{flag[5:]}"
    return _SYNONYMS.get(flag, flag)
