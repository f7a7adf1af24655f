"""What a scenario says of the language world model, and of what is imagined at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from agentworld_sim.scenario._types import Domain, Positive, Strict, allowed
from agentworld_sim.types.tools import DomainName, Route

if TYPE_CHECKING:
    from agentworld_sim.ports import PromptContext

Text = Annotated[str, Field(min_length=1)]


def _base_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    # A password is refused, and not shown, by the settings.
    if not good and "@" not in url:
        raise allowed("a base URL, for example http://127.0.0.1:8000/v1")
    return url


class RoutesSpec(Strict):
    """How tools and commands are answered, by name or pattern (`*`, `?`, `[…]`)."""

    tools: Mapping[str, Route] = Field(default_factory=dict[str, Route])
    """Tools: `compute` only, `imagine` even if it could be computed, or `refuse`."""
    commands: Mapping[str, Route] = Field(default_factory=dict[str, Route])
    """Commands of the shell: `compute` (one that it does not have is not found), `imagine`, or
    `refuse`, which ends the step with an error."""


class ModelSpec(Strict):
    """The language world model that imagines what cannot be computed, and what it is told.

    Its key is never written here: it comes from AGENTWORLD_API_KEY, and goes to a server that only a
    scenario names if that is on this host.
    """

    url: Annotated[Text, AfterValidator(_base_url)] | None = None
    """Base URL of its OpenAI-compatible API; options and AGENTWORLD_MODEL_URL win over it."""
    name: Text | None = None
    """Its name as served; options and AGENTWORLD_MODEL win over it."""
    thinking: bool | None = None
    """Whether it thinks before it answers; it does by default."""
    max_tokens: Positive | None = None
    """Most tokens of one reply, thinking included."""
    thinking_tokens: Positive | None = None
    """Most tokens of thinking in one reply."""
    token_budget: Positive | None = None
    """Most tokens that the world may use in all."""
    initial_state: Mapping[Domain, Text] = Field(default_factory=dict[DomainName, str])
    """What is there at the start, by domain, in the domain's own form: a screen, or a description."""
    demonstrations: Mapping[Domain, Text] = Field(default_factory=dict[DomainName, str])
    """Examples of calls and answers of the real system, by domain."""
    instruction: str = ""
    """How the simulated world shall behave. The agent is never shown it."""

    def limits(self) -> Mapping[str, Any]:
        """How much a model may think, write and use; see `WorldModel.limited`."""
        names = {"thinking", "max_tokens", "thinking_tokens", "token_budget"}
        return self.model_dump(include=names)

    def to_prompt_context(self, task: str, env: Mapping[str, str]) -> PromptContext:
        """What the model is told.

        Args:
            task: What the agent is asked to do.
            env: The machine's own variables; those named like a secret are kept out of prompts.
        """
        from agentworld_sim.ports import PromptContext
        from agentworld_sim.redaction.environment import secrets_of

        return PromptContext(
            task=task,
            initial_state=self.initial_state,
            demonstrations=self.demonstrations,
            instruction=self.instruction,
            secrets=secrets_of(env),
        )


__all__ = ["ModelSpec", "RoutesSpec"]
