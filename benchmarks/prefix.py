"""How much of a prompt a server's prefix cache knows: turns cut in blocks, or dropped one at a time.

The measurement behind the fifth architecture decision record. Prompts and answers go through the prefix
cache of the scripted server: tokens of four bytes, blocks of 16.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass

from agentworld_sim import ToolCall, ToolSpec
from agentworld_sim.domains import domain
from agentworld_sim.imagination.conversation import Conversation, tokens
from agentworld_sim.imagination.prompt_set import PromptSet
from agentworld_sim.llm.scripted import count_tokens
from agentworld_sim.llm.scripted.tokens import PrefixCache, render_prompt
from agentworld_sim.ports import Part
from benchmarks._rows import Row

TOOL = ToolSpec(
    name="lookup",
    description="Look up a record.",
    input_schema={
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
    },
)
MCP = domain("mcp")
SYSTEM = PromptSet.default().system("mcp", tools=[TOOL])
SMALL = 20_000
"""Tokens of prompt that a context of 24,000 leaves beside a reply of 4,000."""


class OneAtATime(Conversation):
    """The alternative: the oldest turn goes whenever the prompt is too long."""

    def _first_kept(self, budget_tokens: int, digest_tokens: int) -> int:
        sizes = [self._written(place).size for place in range(len(self.parts))]
        first, held = 0, tokens(self.system) + sum(sizes)
        while first < len(sizes) - 1 and held + (digest_tokens if first else 0) > budget_tokens:
            held -= sizes[first]
            first += 1
        return first


@dataclass(frozen=True)
class Session:
    """What the cache did in a session."""

    reused: float
    """Of the previous prompt's tokens, the share that came from the cache, on average."""
    begun_anew: int
    """Prompts that shared less than 90 % with the one before."""
    prompt_tokens: int
    computed: int


def session(form: type[Conversation], *, turns: int, size: int, budget: int) -> Session:
    """Asks for `turns` turns with observations of `size` bytes."""
    cache = PrefixCache(block_size=16)
    parts: tuple[Part, ...] = ()
    shares: list[float] = []
    previous = 0
    for number in range(turns):
        action = MCP.action(ToolCall("lookup", {"id": str(number)}), TOOL)
        asked = Part(number + 1, action, None, ())
        conversation = form(domain=MCP, system=SYSTEM, parts=(*parts, asked))
        messages = [
            {"role": one.role, "content": one.content}
            for one in conversation.messages(budget_tokens=budget)
        ]
        prompt = render_prompt(messages)
        found = cache.look_up(prompt)
        if previous:
            shares.append(min(found / previous, 1.0))
        previous = count_tokens(prompt)
        answer = record(number, size)
        cache.add(f"{prompt}<predicted_observation>\n{answer}\n</predicted_observation>")
        parts = (*parts, Part(number + 1, action, answer, ()))
    return Session(
        statistics.mean(shares),
        sum(share < 0.9 for share in shares),
        cache.queries,
        cache.queries - cache.hits,
    )


def record(number: int, size: int) -> str:
    """Text that no other turn has."""
    chance = random.Random(number)
    return " ".join(f"{chance.randrange(10**6):06d}" for _ in range(size // 7))


def rows() -> list[Row]:
    """All figures about prefixes."""
    short = session(Conversation, turns=20, size=1_000, budget=229_376)
    found = [
        Row(
            "20 turns: of the previous prompt, from the prefix cache",
            short.reused * 100,
            unit="%",
            target="at least 95 %",
            met=short.reused >= 0.95,
        )
    ]
    for size in (1_000, 3_000):
        blocks = session(Conversation, turns=100, size=size, budget=SMALL)
        single = session(OneAtATime, turns=100, size=size, budget=SMALL)
        where = f"100 turns of {size:,} bytes, prompts of at most {SMALL:,} tokens"
        for what, ours, theirs, unit in (
            (
                "of the previous prompt, from the cache",
                blocks.reused * 100,
                single.reused * 100,
                "%",
            ),
            ("prompts that begin anew", blocks.begun_anew, single.begun_anew, ""),
            ("prompt tokens", blocks.prompt_tokens / 1e3, single.prompt_tokens / 1e3, "thousand"),
            ("of these computed", blocks.computed / 1e3, single.computed / 1e3, "thousand"),
        ):
            found.append(
                Row(
                    f"{where}: {what}",
                    ours,
                    unit=unit,
                    alternative="one turn dropped at a time",
                    theirs=theirs,
                )
            )
    return found
