"""`WorldModel`: a language world model, as worlds use it, asked until a reply can be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from agentworld_sim.errors import (
    AgentworldError,
    BudgetSpent,
    ContextOverflow,
    ObservationRejected,
    UnusableReply,
)
from agentworld_sim.imagination.conversation import (
    Conversation,
    PromptWriter,
    correction_text,
    tokens,
)
from agentworld_sim.imagination.parsing import Listener, ParsedReply, parse_reply
from agentworld_sim.imagination.prompt_set import PromptSet
from agentworld_sim.imagination.reply_validation import is_json, loop_watch, reply_fault
from agentworld_sim.llm.chat import ChatMessage, ChatReply, ChatRequest, Watch
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.ports import (
    ImaginedValue,
    Imaginer,
    OnDelta,
    PromptContext,
    Question,
    StepContext,
)
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import BlobId, blob_id
from agentworld_sim.types.turns import Turn

T = TypeVar("T")

DEFAULT_CONTEXT_TOKENS = 262_144
"""What the released checkpoint takes; for servers that do not say."""

OVERFLOWS = 4
"""How often a prompt that the server finds too long is cut further."""

SHRINKING = 0.6
"""What is left of a prompt that turned out to be too long for the server."""

BYTES_PER_THOUGHT = 4
"""Of thinking, per token; for ending it at its limit."""

THOUGHT_GRACE = 1.5
"""How far beyond its limit thinking may go before it is ended from here: a server that ends it itself
keeps what was thought."""

THOUGHT_TOO_LONG = "the thinking was longer than"

_SEEDS = 2**31


class ModelImaginer:
    """Implements `Imaginer`: asks a language world model until a reply can be used."""

    def __init__(self, model: WorldModel, prompt_context: PromptContext | None = None) -> None:
        self._model = model
        self._writer = PromptWriter(model.prompts, prompt_context)

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        prompt = question.prompt()
        if prompt.records and not self._model.settings.history:
            prompt = replace(prompt, parts=prompt.parts[-1:])
        loop = AskLoop(
            model=self._model,
            question=question,
            context=context,
            conversation=self._writer.conversation(prompt, context.instruction, context.examples),
            known=_known_messages(await context.history()),
            on_delta=context.on_delta if question.streams else None,
        )
        try:
            return await loop.ask_until_valid()
        except AgentworldError as failure:
            failure.exchanges = tuple(loop.exchanges)
            raise


@dataclass(slots=True)
class AskLoop(Generic[T]):
    """One question, and the replies to it so far."""

    model: WorldModel
    question: Question[T]
    context: StepContext
    conversation: Conversation
    known: frozenset[BlobId]
    """Messages that are stored already."""
    on_delta: OnDelta | None
    """Who reads along while the first reply is written; what is written instead of one that was refused
    is not told, because it would be taken for its continuation."""
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    """What was asked and said."""
    _rejected: list[ObservationRejected] = field(default_factory=list[ObservationRejected])
    """For every answer that checks refused."""
    _spare: ImaginedValue[T] | None = None
    """The first answer that is right but for a control: a rule makes it obey where the next does not."""
    _thinking: bool = True
    _most_tokens: int | None = None
    """Of a prompt, once one was found to be too long."""

    async def ask_until_valid(self) -> ImaginedValue[T]:
        """The first answer that can be used."""
        settings = self.model.settings
        self._thinking = settings.thinking
        reason = ""
        for attempt in range(settings.reasks + 1):
            await self._check_budget()
            reply, request = await self._reply(attempt, reason)
            given = await self._read(reply, request.messages, reason)
            if isinstance(given, ImaginedValue):
                return given
            reason = given
            # A step that fails may be tried again, and is not answered from memory then.
            await self.model.client.forget(request)
            if reply.interruption.startswith(THOUGHT_TOO_LONG):
                self._thinking = False
            if _is_squeezed(reply):
                self._shrink(request.messages)
        if self._spare is not None:
            return replace(self._spare, exchanges=tuple(self.exchanges))
        if len(self._rejected) > settings.reasks:
            raise self._rejected[-1]
        raise self._unusable(reason)

    async def _read(
        self, reply: ChatReply, messages: Sequence[ChatMessage], correction: str
    ) -> ImaginedValue[T] | str:
        """The answer in a reply, or why it cannot be used; the reply is recorded."""
        shown = partial(_world_text, messages, correction)
        parsed = parse_reply(reply.content, enforced=reply.enforced, known=shown)
        fault = reply_fault(reply, parsed, enforced=reply.enforced, known=shown)
        self._record(messages, reply, parsed)
        if reply.enforced and reply.finish_reason == "stop" and not is_json(parsed.text):
            self.model.client.distrust_schemas()
        if fault is not None:
            return self._refuse(fault)
        try:
            value = self.question.read(parsed.text)
        except ValueError as error:
            return self._refuse(str(error))
        imagined = ImaginedValue(value, "imagined", tuple(self.exchanges))
        try:
            await self.question.judge(imagined, self.context)
        except ObservationRejected as rejected:
            if rejected.rewritable and self._spare is not None:
                return imagined
            self._spare = imagined if rejected.rewritable else self._spare
            self._rejected.append(rejected)
            return self._refuse("; ".join(rejected.reasons))
        return imagined

    def _refuse(self, reason: str) -> str:
        self.exchanges[-1] = replace(self.exchanges[-1], problem=reason)
        return reason

    def _unusable(self, reason: str) -> UnusableReply:
        from agentworld_sim.llm.failures import display_url
        from agentworld_sim.redaction.records import Redaction

        settings = self.model.settings
        about = Redaction().text(self.question.about)
        return UnusableReply(
            f"{settings.model or 'the model'} at {display_url(settings.url)} gave no usable answer about"
            f" {about!r} in {settings.reasks + 1} tries. The last one:"
            f" {reason.rstrip('.')}. The world is unchanged. `agentworld prompt show WORLD --failed`"
            " shows what the model said, if the world is kept; `exchanges` of this error has it. A"
            " server that keeps to seeds says the same when asked again: `world.fork(seed=…)` asks"
            " with others."
        )

    async def _reply(self, attempt: int, correction: str) -> tuple[ChatReply, ChatRequest]:
        settings = self.model.settings
        limit = settings.context_tokens
        if limit is None:
            served = await self.model.client.served_model()
            limit = served.context_tokens or DEFAULT_CONTEXT_TOKENS
        reserved = min(settings.max_tokens, max(1, limit // 2))
        for overflow in range(OVERFLOWS + 1):
            budget = min(limit - reserved, self._most_tokens or limit)
            messages = self.conversation.messages(budget_tokens=budget, correction=correction)
            request = ChatRequest(
                messages=messages,
                max_tokens=reserved,
                seed=sampler_seed(self.context.seed, self.question.about, attempt),
                thinking=self._thinking,
                thinking_tokens=settings.thinking_tokens,
                schema=self.question.schema,
            )
            try:
                listener = self._listener()
                reply = await self.model.client.ask(request, watch=self._watch(), listener=listener)
                return reply, request
            except ContextOverflow:
                if overflow == OVERFLOWS:
                    raise
                # The estimate was too low for this text.
                self._shrink(messages)
        raise AssertionError("the last overflow is raised")

    def _listener(self) -> Listener | None:
        on_delta, self.on_delta = self.on_delta, None
        return on_delta and Listener(on_delta, thinks=self._thinking)

    def _shrink(self, messages: Sequence[ChatMessage]) -> None:
        self._most_tokens = int(sum(tokens(one.content) for one in messages) * SHRINKING)

    def _watch(self) -> Watch:
        looping = loop_watch()
        limit = self.model.settings.thinking_tokens

        def watch(content: str, thinking: str) -> str | None:
            if limit is not None and len(thinking) > limit * BYTES_PER_THOUGHT * THOUGHT_GRACE:
                return f"{THOUGHT_TOO_LONG} {limit} tokens"
            return looping(content, thinking)

        return watch

    async def _check_budget(self) -> None:
        budget = self.model.settings.token_budget
        if budget is None:
            return
        spent = await _spent_before(self.context) + _tokens_spent(self.exchanges)
        if spent >= budget:
            raise BudgetSpent(
                f"this world has used {spent:,} of the {budget:,} tokens it was given"
                " (token_budget), so the model was not asked. Raise the budget, or fork an earlier"
                " point. The world is unchanged."
            )

    def _record(
        self, messages: Sequence[ChatMessage], reply: ChatReply, parsed: ParsedReply
    ) -> None:
        self.exchanges.append(
            Exchange(
                about=self.question.about,
                messages=tuple((one.role, self._blob(one.content)) for one in messages),
                parameters=reply.parameters,
                content=reply.content,
                thinking=reply.thinking or parsed.thinking,
                finish_reason=reply.finish_reason,
                usage=reply.usage,
                seconds=round(reply.seconds, 6),
                first_token_seconds=_round(reply.first_token_seconds),
                source=reply.source,
                logprob=_round(reply.logprob),
                tagged=parsed.tagged or reply.enforced,
            )
        )

    def _blob(self, text: str) -> BlobId:
        data = text.encode("utf-8", "surrogatepass")
        name = blob_id(data)
        return name if name in self.known else self.context.blobs.put(data)


def _world_text(messages: Sequence[ChatMessage], correction: str) -> str:
    """What the model was shown of the world: not what it was told of itself or of its replies."""
    shown = [one.content for one in messages if one.role != "system"]
    if correction and shown:
        shown[-1] = shown[-1].removesuffix(correction_text(correction))
    return "\n".join(shown)


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _is_squeezed(reply: ChatReply) -> bool:
    """Whether the reply was cut because the prompt left it less room than was asked for.

    vLLM (0.32) lowers `max_tokens` to what the context leaves, and says nothing.
    """
    written, allowed = reply.usage.get("completion_tokens"), reply.parameters.get("max_tokens")
    if reply.finish_reason != "length" or written is None or not isinstance(allowed, int):
        return False
    return written < allowed


def sampler_seed(seed: int, about: str, attempt: int) -> int:
    """What the server's sampler is given: the same for the same turn, another for every attempt."""
    digest = sha256(f"{seed}\n{attempt}\n{about}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") % _SEEDS


def _tokens_spent(exchanges: Sequence[Exchange]) -> int:
    """Tokens that a server was asked to read and write."""
    return sum(
        one.usage.get("prompt_tokens", 0) + one.usage.get("completion_tokens", 0)
        for one in exchanges
        if one.source == "server"
    )


async def _spent_before(context: StepContext) -> int:
    """The same of the turns before this one, and of the steps that failed."""
    history, failures = await context.history(), await context.failures()
    return sum(_tokens_spent(one.exchanges) for one in (*history, *failures))


def _known_messages(history: Sequence[Turn]) -> frozenset[BlobId]:
    """Messages that the latest turn that asked a model stored."""
    for turn in reversed(history):
        if turn.exchanges:
            return frozenset(blob for one in turn.exchanges for _, blob in one.messages)
    return frozenset()


class WorldModel:
    """A language world model behind an OpenAI-compatible server.

    One serves any number of worlds, on any number of event loops; they share its connections, its
    limit of requests under way and its cache of replies.

    ```python
    model = WorldModel(ModelSettings(url="http://127.0.0.1:8000/v1"))
    async with await World.create(scenario, model=model) as world:
        ...
    ```
    """

    def __init__(self, settings: ModelSettings, prompts: PromptSet | None = None) -> None:
        """
        Args:
            prompts: What it is told; the shipped prompts, or those of `settings.prompts`, by default.

        Raises:
            UsageError: the folder of prompts cannot be read.
        """
        self.settings = settings
        if prompts is None:
            folder = settings.prompts
            prompts = PromptSet.default() if folder is None else PromptSet.load(folder)
        self.prompts = prompts
        self.client = ChatClient(settings)
        second = settings.second
        self.second = None if second is None else WorldModel(second, prompts)
        self._users: WeakSet[object] = WeakSet()

    def __reduce__(self) -> tuple[type[WorldModel], tuple[ModelSettings, PromptSet]]:
        """In another process it has connections of its own."""
        return WorldModel, (self.settings, self.prompts)

    @classmethod
    def find(
        cls, *, url: str | None = None, model: str | None = None, **others: Any
    ) -> WorldModel | None:
        """The model that options and environment variables name; see `ModelSettings.find`.

        Equal settings give the same object, so that all worlds of a process share it.
        """
        settings = ModelSettings.find(url=url, model=model, **others)
        return None if settings is None else _cached_model(settings, settings.api_key)

    @property
    def name(self) -> str:
        """The model's name at the server, as far as it was chosen."""
        return self.settings.model or ""

    def with_limits(self, **changes: Any) -> WorldModel:
        """The same model with a scenario's limits, on the same connections and cache.

        What was chosen for the model itself holds: a limit counts where the model has the default.

        Args:
            changes: Fields of `ModelSettings` about how it is asked, not where; `None` changes
                nothing.
        """
        usual = ModelSettings(url=self.settings.url)
        changed = {
            name: value
            for name, value in changes.items()
            if value is not None and getattr(self.settings, name) == getattr(usual, name)
        }
        if not changed:
            return self
        other = copy(self)
        other.settings = replace(self.settings, **changed)
        return other

    def imaginer(
        self, prompt_context: PromptContext | None = None, limits: Mapping[str, Any] | None = None
    ) -> Imaginer:
        """What answers with it in the worlds of a scenario, as its settings say: with examples, several times,
        with a second model.

        Args:
            prompt_context: What the scenario tells it.
            limits: The scenario's; see `with_limits`.

        Raises:
            UsageError: a file that the settings name cannot be read.
        """
        from agentworld_sim.imagination.parts import with_parts

        model = self.with_limits(**(limits or {}))
        second = self.second and self.second.imaginer(prompt_context, limits)
        return with_parts(ModelImaginer(model, prompt_context), model.settings, second)

    def acquire(self, user: object) -> None:
        """Says that `user` uses it."""
        self._users.add(user)

    async def release(self, user: object) -> None:
        """Says that `user` does not use it any more; the last one closes the connections."""
        self._users.discard(user)
        if not self._users:
            await self.close()

    async def close(self) -> None:
        """Closes the connections of the running event loop. It can still be used."""
        await self.client.close()
        if self.second is not None:
            await self.second.close()


@lru_cache(maxsize=16)
def _cached_model(settings: ModelSettings, key: str) -> WorldModel:
    del key  # no part of a setting's equality, and yet two keys are two models
    return WorldModel(settings)
