"""What a user says about the server that is to be started."""

from __future__ import annotations

from collections.abc import Mapping
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
