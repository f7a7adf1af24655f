"""Look at a model server from outside: is it set up as a language world model needs it?"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agentworld_sim.errors import ContextOverflow, ModelFailure
from agentworld_sim.llm.chat import ChatMessage, ChatReply, ChatRequest
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.runtime.sync import run_sync

Verdict = Literal["ok", "warning", "failed"]

ENOUGH_CONTEXT = 40_960
"""Tokens: the 32,768 that an answer may have, and a short prompt."""

PREFIX_CHARACTERS = 20_000
"""About 6,000 tokens: hybrid models such as qwen3_5_moe cache in blocks of up to 2,096 (vLLM)."""

SHORTER = 12
"""A context that does not hold the prefix gets one this much shorter."""

PARSER = "Start the server with --reasoning-parser qwen3."

TAG = "<predicted_observation>"

KINDS = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "library": "Ollama",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
}
"""Servers by what they write as the owner of a model."""

CONVERSATION = (
    ChatMessage(
        "system",
        "You predict what the terminal of a Debian machine shows. Each user message is an action:"
        " keystrokes as JSON. Think first, briefly. Then write the screen after the action, with the"
        f" echoed command and the new prompt, between {TAG} and </predicted_observation>, and nothing"
        " else.",
    ),
    ChatMessage(
        "user",
        "### Turn 1\n\n**Current State:**\nroot@lab:/srv# \n\n**Action:**\n```json\n"
        '[{"keystrokes": "pwd\\n", "duration": 0.1}]\n```',
    ),
)
"""A turn in the world model's wire form."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One check and what came of it."""

    check: str
    verdict: Verdict
    summary: str
    advice: str | None = None
    """What to do; names the exact flag where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that was looked at."""

    url: str
    model: str | None
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed; warnings do not count."""
        return all(one.verdict != "failed" for one in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        checks = [asdict(one) for one in self.findings]
        return {"url": self.url, "model": self.model, "ok": self.ok, "checks": checks}


def diagnose(
    url: str,
    *,
    model: str | None = None,
    api_key: str | None = None,
    max_tokens: int = 4096,
    timeout: float = 300.0,
    on_finding: Callable[[Finding], None] | None = None,
) -> Diagnosis:
    """Looks at a model server.

    Args:
        url: The base URL of an OpenAI-compatible API.
        model: The name it should serve; the only one it serves by default.
        api_key: Sent as a bearer token.
        max_tokens: Limit of each answer, thinking included.
        timeout: Seconds without a byte after which a request is given up.

    Raises:
        UsageError: the URL is not one.
    """
    settings = ModelSettings(
        url=url.rstrip("/"),
        model=model or "",
        api_key=api_key or "",
        max_tokens=max_tokens,
        connect_seconds=min(10.0, timeout),
        silence_seconds=timeout,
        retries=0,
        cache_entries=0,
        logprobs=True,
    )
    examination = _Examination(settings, on_finding)
    run_sync(examination.run())
    return Diagnosis(
        url=settings.url, model=examination.model, findings=tuple(examination.findings)
    )


class _Examination:
    """The checks in their order, and what was found so far."""

    def __init__(
        self, settings: ModelSettings, on_finding: Callable[[Finding], None] | None
    ) -> None:
        self.findings: list[Finding] = []
        self.model: str | None = None
        self._owner = ""
        self._url, self._max_tokens = settings.url, settings.max_tokens
        self._client = ChatClient(settings)
        self._on_finding = on_finding

    async def run(self) -> None:
        """Runs the checks; a server that fails an early one is not asked the later."""
        try:
            if await self._run_check("server", self._server) and await self._run_check(
                "answers", self._answer
            ):
                await self._run_check("structured output", self._structured_output)
                await self._run_check("prefix caching", self._prefix_cache)
                await self._run_check("seeds", self._seeds)
                self._parameters()
        finally:
            await self._client.close()

    async def _run_check(self, check: str, look: Callable[[], Awaitable[None]]) -> bool:
        try:
            await look()
        except ModelFailure as failure:
            self._add(check, "failed", str(failure))
            return False
        return True

    def _add(self, check: str, verdict: Verdict, summary: str, advice: str | None = None) -> None:
        self.findings.append(Finding(check, verdict, summary, advice))
        if self._on_finding is not None:
            self._on_finding(self.findings[-1])

    async def _server(self) -> None:
        """Whether an API answers there, takes the key, serves the model, and how long a context."""
        served = await self._client.served_model()
        self.model = served.name
        self._add("server", "ok", self._url)
        self._add("model", "ok", served.name)
        self._owner = served.owner
        tokens, check = served.context_tokens, "context length"
        if tokens is None:
            advice = "It should have 262,144 tokens for long sessions, 40,960 at least."
            return self._add(check, "warning", "the server does not say", advice)
        self._max_tokens = min(self._max_tokens, max(tokens // 2, 1))
        if tokens >= ENOUGH_CONTEXT:
            return self._add(check, "ok", f"{tokens:,} tokens")
        advice = (
            "An answer alone may take 32,768. Start the server with a longer --max-model-len (SGLang:"
            " --context-length); the model has 262,144."
        )
        self._add(check, "warning", f"{tokens:,} tokens", advice)

    async def _answer(self) -> None:
        """Whether thinking arrives in a field of its own, and the observation in its tag."""
        answer = await self._ask(*CONVERSATION)
        self._add("kind", "ok", self._kind(answer.model))
        if "<think>" in answer.content or "</think>" in answer.content:
            self._add("reasoning parser", "failed", "thinking stands in the content", PARSER)
        elif answer.thinking:
            summary = f"thinking arrives in `{answer.thinking_field}`"
            self._add("reasoning parser", "ok", summary)
        else:
            advice = (
                "Is it a model that thinks, and does its chat template honour enable_thinking? World"
                " models answer better with thinking (users' measurements: 125 of 150 against 101)."
            )
            self._add("reasoning parser", "warning", "the answer had no thinking", advice)
        self._observation(answer)
        check = "log-probabilities"
        if answer.logprob is not None:
            return self._add(check, "ok", "told")
        advice = "Only several answers show how sure one is: ask with --samples 3."
        self._add(check, "warning", "the answer did not tell them", advice)

    def _kind(self, answered: str) -> str:
        """What kind of server it is, by its list of models and the name under which it answers."""
        if answered.startswith(f"{self.model}@"):
            # It names the revision of the weights behind the model.
            return "transformers serve"
        kind = KINDS.get(self._owner)
        if kind is None:
            kind = f"unknown, its models are owned by {self._owner!r}" if self._owner else "unknown"
        return kind if answered in ("", self.model) else f"{kind}, answers as {answered}"

    def _observation(self, answer: ChatReply) -> None:
        check = "observation"
        if TAG in answer.content:
            self._add(check, "ok", "stands in its tag")
        elif answer.finish_reason == "length":
            self._add_cut(check)
        elif not answer.content.strip():
            advice = (
                "The reasoning parser took the answer for thinking: is it the one of this model?"
            )
            self._add(check, "failed", "the answer is empty though nothing cut it", advice)
        else:
            advice = "Is it a language world model? Qwen/Qwen-AgentWorld-35B-A3B is one."
            self._add(check, "failed", "the answer does not carry the tag", advice)

    def _add_cut(self, check: str) -> None:
        summary = f"cannot tell: the answer was cut at {self._max_tokens:,} tokens"
        self._add(check, "warning", summary, "Give the doctor a larger --max-tokens, worlds 32768.")

    async def _structured_output(self) -> None:
        """Whether a JSON schema is enforced, after the thinking."""
        question = ChatMessage("user", "Invent a person. Answer with name and age as JSON.")
        answer = await self._ask(question, schema=SCHEMA)
        check = "structured output"
        if not answer.enforced:
            advice = "Answers will be checked and asked again instead."
            self._add(check, "warning", "not supported: the server refuses a schema", advice)
        elif _fits(answer.content):
            self._add(check, "ok", "enforced")
        elif answer.finish_reason == "length":
            self._add_cut(check)
        else:
            advice = "vLLM enforces it after the thinking with --reasoning-parser qwen3; SGLang likewise."
            self._add(check, "warning", "the schema was not enforced", advice)

    async def _prefix_cache(self) -> None:
        """What comes from the cache of the second of two requests that begin alike."""
        try:
            usage = (await self._twice(PREFIX_CHARACTERS)).usage
        except ContextOverflow:
            usage = (await self._twice(PREFIX_CHARACTERS // SHORTER)).usage
        cached, prompt = usage.get("cached_tokens"), usage.get("prompt_tokens", 0)
        check = "prefix caching"
        if cached is None:
            advice = (
                "Start vLLM with --enable-prompt-tokens-details (SGLang: --enable-cache-report), so"
                " that answers say what came from the cache."
            )
            return self._add(check, "warning", "cannot tell: the answers do not say", advice)
        if not cached:
            advice = "Start vLLM with --enable-prefix-caching."
            return self._add(check, "warning", "nothing came from the cache", advice)
        share = cached / max(prompt, 1)
        summary = f"{cached:,} of {prompt:,} prompt tokens came from the cache ({share:.0%})"
        if share >= 0.5:
            return self._add(check, "ok", summary)
        self._add(check, "warning", summary, "Large blocks hold less: try a smaller --block-size.")

    async def _seeds(self) -> None:
        """Whether equal requests have equal answers, and whether thinking can be switched off."""
        question = ChatMessage("user", "Write ten words that have nothing to do with each other.")
        one, two = [await self._ask(question, max_tokens=64, thinking=False) for _ in range(2)]
        if one.thinking.strip() or "</think>" in one.content:
            advice = "Every answer costs its thinking, also where a setting turns it off."
            self._add("thinking off", "warning", "it thinks all the same", advice)
        else:
            self._add("thinking off", "ok", "it does not think when asked not to")
        if (one.content, one.thinking) == (two.content, two.thinking):
            return self._add("seeds", "ok", "equal requests have equal answers")
        advice = "Another run has other answers: replay a cassette where they must stay."
        self._add("seeds", "warning", "equal requests have different answers", advice)

    def _parameters(self) -> None:
        """What the server refused, so that it is asked without."""
        if left_out := ", ".join(sorted(self._client.left_out)):
            advice = "Worlds ask without, and what it would do does not happen."
            self._add("parameters", "warning", f"refused: {left_out}", advice)
        else:
            self._add("parameters", "ok", "none was refused")

    async def _twice(self, characters: int) -> ChatReply:
        # A beginning of its own, or an earlier run would have filled the cache.
        lines = [f"{number}: nothing was changed." for number in range(characters // 24)]
        system = ChatMessage("system", "\n".join([f"Log {secrets.token_hex(8)}", *lines]))
        short = {"max_tokens": 1, "thinking": False}
        await self._ask(system, ChatMessage("user", "How many lines?"), **short)
        return await self._ask(system, ChatMessage("user", "Which is the last?"), **short)

    async def _ask(self, *messages: ChatMessage, **fields: Any) -> ChatReply:
        fields = {"max_tokens": self._max_tokens, "seed": 0, **fields}
        return await self._client.ask(ChatRequest(messages=messages, **fields))


def _fits(content: str) -> bool:
    try:
        person: Any = json.loads(content)
        return {name: type(value) for name, value in person.items()} == {"name": str, "age": int}
    except (ValueError, AttributeError):
        return False
