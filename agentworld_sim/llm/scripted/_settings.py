"""How a scripted server behaves, whatever it answers."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.llm.scripted._dialects import Dialect, ReasoningField, reasoning_field_of


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `ScriptedModelServer`, which documents them."""

    models: tuple[str, ...]
    api_key: str | None
    dialect: Dialect
    reasoning_field: ReasoningField | None
    reasoning_parser: bool
    max_model_len: int
    honour_max_tokens: bool
    structured_output: bool
    strict_fields: bool
    prefix_caching: bool
    report_cached_tokens: bool
    block_size: int

    def __repr__(self) -> str:
        # The generated one would show the API key.
        return f"Settings(models={self.models!r}, dialect={self.dialect!r})"

    @property
    def thinking_field(self) -> ReasoningField:
        return self.reasoning_field or reasoning_field_of(self.dialect)
