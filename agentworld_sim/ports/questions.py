"""What engines cannot compute, and who answers it.

An engine turns it into a `Question`, with all that belongs to it: the prompt, the schema, how the answer is read,
judged and recorded. An `Imaginer` answers every question in the same way, whichever engine asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, Literal, Protocol, TypeVar

from agentworld_sim.ports.steps import Answer, StepContext
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.tools import DomainName, ToolSpec
from agentworld_sim.types.turns import Action, Provenance, Turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionKey:
    """What names a question in a cassette, beside the state of the world and its history."""

    kind: Literal["tool", "command"]
    name: str
    """The tool, or the command's first word."""
    about: Mapping[str, Any]
    """The arguments; of a command `argv`, `cwd` and perhaps `stdin`."""
    env: tuple[str, str, Mapping[str, str]] = ("", "", MappingProxyType({}))
    """Of a command: user, host and exported variables."""
    files_sum: int | None = None
    """Hash of all files where the question is asked; `None` for those of the state before the turn."""
    earlier: tuple[tuple[str, ...], ...] = ()
    """Commands that were imagined in the same turn before."""


@dataclass(frozen=True, slots=True)
class Part:
    """One action of a conversation, and what happened elsewhere before it."""

    number: int
    """From 1, counting the conversation's own actions of the whole history."""
    action: Action
    answer: str | None
    """`None` for the action that is asked about."""
    between: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a question tells a model; the imaginer adds its part and cuts it to its budget."""

    subject: DomainName | Literal["command"]
    """Whose conversation it is: a domain's, or that of the commands inside of shells."""
    parts: tuple[Part, ...]
    """Oldest first; the last one is asked about."""
    tools: Sequence[ToolSpec] = ()
    """The tools of the domain."""
    records: str = ""
    """Records of the world that matter; told with the last part, and never again."""
    secrets: frozenset[str] = frozenset()
    """Texts that must not be told, beside those of the scenario."""
    memory: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Kept by whoever asks again and again: what was written of a conversation is not written twice."""


@dataclass(frozen=True, slots=True)
class ImaginedValue(Generic[T]):
    """An answer that nobody computed."""

    value: T
    provenance: Provenance
    """`imagined` or `replayed`."""
    exchanges: tuple[Exchange, ...] = ()
    """What a model was asked for it, and said."""


def whole_answer(imagined: ImaginedValue[Answer]) -> Answer:
    """The answer to a call that was imagined as a whole."""
    given = imagined.value
    observation = replace(given.observation, provenance=imagined.provenance)
    return replace(given, observation=observation, exchanges=imagined.exchanges)


class Question(Protocol[T]):
    """Something that an engine cannot compute."""

    @property
    def about(self) -> str:
        """`observation`, or a command's words; for the records."""
        ...

    @property
    def key(self) -> QuestionKey:
        """What its answer is recorded under."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """What the reply must fit where the server can enforce it."""
        ...

    @property
    def streams(self) -> bool:
        """Whether the reply, as it is written, is what the agent will read."""
        ...

    def prompt(self) -> Prompt:
        """What a model is told."""
        ...

    def read(self, text: str) -> T:
        """The answer that a model wrote. Raises `ValueError` with the reason, for the model."""
        ...

    async def judge(self, imagined: ImaginedValue[T], context: StepContext) -> None:
        """Puts an answer before the world's checks (`context.judge`), where these judge such answers.

        Raises:
            ObservationRejected: checks refuse it.
        """
        ...

    def dump(self, value: T) -> Mapping[str, Any]:
        """The answer as JSON, for a cassette."""
        ...

    def load(self, answer: Mapping[str, Any]) -> T:
        """What `dump` wrote."""
        ...


class Imaginer(Protocol):
    """Answers what engines cannot compute, for the worlds of one scenario."""

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        """The first answer that can be used and that the world's checks accept.

        Raises:
            WorldFailure: there is none; its `exchanges` tell what was said.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """What an imaginer is told of a scenario."""

    task: str = ""
    """What the agent is asked to do; told to the model where the domain is a screen."""
    initial_state: Mapping[DomainName, str] = field(default_factory=dict[DomainName, str])
    """What is there before the first turn, in the domain's own form: a screen, or a description."""
    demonstrations: Mapping[DomainName, str] = field(default_factory=dict[DomainName, str])
    """Examples of calls and answers of the real system."""
    secrets: frozenset[str] = frozenset()
    """Texts of the world that no prompt may contain."""
    instruction: str = ""
    """How the world shall behave."""
    files_sum: int | None = None
    """Hash of the machine's files before the scenario's came to it; `None` for the usual machine."""
    seed: int = 0
    """What the worlds begin with."""


class WorldImaginer(Protocol):
    """What `World.create(model=…)` takes. A `WorldModel` asks a server, a cassette says again what was
    recorded; that may have no model and no settings."""

    @property
    def name(self) -> str:
        """The name of the model that answers; empty where nobody knows it."""
        ...

    def imaginer(
        self, prompt_context: PromptContext | None = None, limits: Mapping[str, Any] | None = None
    ) -> Imaginer:
        """What answers in the worlds of a scenario.

        Args:
            prompt_context: What the scenario tells it.
            limits: How much the scenario lets a model think, write and use; see `WorldModel.with_limits`.
        """
        ...

    def acquire(self, user: object) -> None:
        """Says that `user` uses it."""
        ...

    async def release(self, user: object) -> None:
        """Says that `user` does not use it any more."""
        ...
