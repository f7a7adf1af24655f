"""`InProcessPolicy`: samples from a torch model of this process, as its weights are at the moment. [torch]

All rollouts under way are generated together, when the last of them waits for its turn: one forward pass
gives a token to each. Equal seeds make equal batches, and so equal bytes; and since every request draws
from a generator of its own, what it is given does not depend on its neighbours, but for the last digits
of a float.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import Completion
from agentworld_trainers._generation_rows import (
    BufferedRows,
    PaddedRows,
    RowCache,
    Start,
    remembers,
    rows_for,
)


@dataclass(slots=True, eq=False)
class _Request:
    prompt: tuple[int, ...]
    max_tokens: int
    seed: int
    answer: asyncio.Future[Completion]
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    finish: Literal["stop", "length", ""] = ""
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def take(self, token: int, logprob: float, stops: frozenset[int]) -> None:
        self.ids.append(token)
        self.logprobs.append(logprob)
        if token in stops:
            self.finish = "stop"
        elif len(self.ids) >= self.max_tokens:
            self.finish = "length"

    @property
    def ended(self) -> bool:
        # Nobody waits any more for one that was cancelled.
        return bool(self.finish) or self.answer.done()


class InProcessPolicy:
    """Implements `Policy` and `WaitsForAll`. Weights may change between batches, never during one."""

    def __init__(
        self,
        model: Any,
        *,
        stop_ids: Sequence[int],
        pad_id: int = 0,
        temperature: float = 1.0,
        most_rows: int = 256,
    ) -> None:
        """
        Args:
            model: A causal language model of transformers, or one that PEFT wraps.
            stop_ids: Tokens that end a turn: `TurnTokens.stop_ids`.
            pad_id: Any token.
            temperature: Of the sampling; 0 takes the most probable token always.
            most_rows: Requests that are generated at once; more wait for the next batch.
        """
        if not stop_ids:
            raise UsageError(
                "a policy without stop_ids never ends a turn. Give TurnTokens.stop_ids."
            )
        if temperature < 0:
            raise UsageError(f"temperature must be 0 or more, not {temperature!r}.")
        self.model = model
        self.temperature = temperature
        self.version = 0
        """The optimiser step of the weights; set by whoever trains them."""
        self.tokens_read = 0
        """Tokens of prompts that went through the model so far; what it row_cache did not."""
        self._stops = frozenset(stop_ids)
        self._pad = pad_id
        self._most_rows = most_rows
        self._under_way = 0
        self._waiting: list[_Request] = []
        self._generating: asyncio.Task[None] | None = None
        self._known: dict[tuple[int, ...], RowCache] = {}
        """Of the conversations of the last batch, by the tokens that were read."""

    def rollout_began(self) -> None:
        self._under_way += 1

    def rollout_ended(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            # Before the next batch the weights change.
            self._known = {}
        self._look()

    async def complete(
        self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int
    ) -> Completion:
        answer = asyncio.get_running_loop().create_future()
        request = _Request(tuple(prompt_ids), max_tokens, seed, answer)
        self._waiting.append(request)
        self._look()
        try:
            return await answer
        finally:
            if request in self._waiting:
                self._waiting.remove(request)

    def _look(self) -> None:
        """Begins a batch when everybody waits."""
        if self._generating is None and self._waiting:
            # Not at once: requests that are made in the same round of the event loop come along.
            self._waiting[0].answer.get_loop().call_soon(self._begin)

    def _begin(self) -> None:
        ready = bool(self._waiting) and len(self._waiting) >= self._under_way
        if self._generating is None and ready:
            # The order in which they came depends on how long worlds took.
            batch = sorted(self._waiting, key=lambda one: (one.seed, len(one.prompt), one.prompt))
            self._waiting = []
            self._generating = asyncio.get_running_loop().create_task(self._answer(batch))

    async def _answer(self, batch: list[_Request]) -> None:
        training = bool(self.model.training)
        self.model.eval()
        known: dict[tuple[int, ...], RowCache] = {}
        try:
            for begin in range(0, len(batch), self._most_rows):
                await self._generate(batch[begin : begin + self._most_rows], known)
        except Exception as error:  # noqa: BLE001 -- raised again where each request is waited for
            for request in batch:
                if not request.answer.done():
                    request.answer.set_exception(error)
        else:
            self._settle(batch, known)
        finally:
            self.model.train(training)
            self._generating = None
            self._look()

    def _settle(self, batch: list[_Request], known: dict[tuple[int, ...], RowCache]) -> None:
        self._known = known if self._under_way else {}
        for request in batch:
            if not request.answer.done() and request.finish:
                request.answer.set_result(
                    Completion(
                        token_ids=tuple(request.ids),
                        logprobs=tuple(request.logprobs),
                        finish=request.finish,
                        version=self.version,
                    )
                )

    async def _generate(
        self, batch: list[_Request], known: dict[tuple[int, ...], RowCache]
    ) -> None:
        """Generates until all have ended, and notes what was computed of each in `known`."""
        prompts = {
            prompt: row for row, prompt in enumerate(dict.fromkeys(one.prompt for one in batch))
        }
        keeps = remembers(self.model)
        active = batch
        with torch.inference_mode():
            starts = self._starts(list(prompts))
            self.tokens_read += sum(
                len(one.ids) - (one.known.tokens if one.known else 0) for one in starts
            )
            rows = rows_for(self.model, starts, self._pad)
            logits = rows.begin()
            # Equal prompts are read once.
            copies = torch.tensor([prompts[one.prompt] for one in batch], device=logits.device)
            if len(prompts) < len(batch):
                rows.select(copies)
            logits = logits[copies]
        while True:
            with torch.inference_mode():
                tokens, logprobs = self._sample(logits, active)
                for request, token, logprob in zip(
                    active, tokens.tolist(), logprobs.tolist(), strict=True
                ):
                    if not request.ended:
                        request.take(token, logprob, self._stops)
                        if request.finish and keeps:
                            _note(rows, active.index(request), request, known)
                going = [row for row, one in enumerate(active) if not one.ended]
                if not going:
                    return
                if 2 * len(going) <= len(active):
                    index = torch.tensor(going, device=tokens.device)
                    rows.select(index)
                    tokens, active = tokens[index], [active[row] for row in going]
                logits = rows.step(tokens)
            # Heartbeats, deadlines and cancellations of others are looked at in between.
            await asyncio.sleep(0)

    def _starts(self, prompts: Sequence[tuple[int, ...]]) -> list[Start]:
        lengths = sorted({len(ids) for ids in self._known}, reverse=True)
        starts: list[Start] = []
        for prompt in prompts:
            found = (self._known.get(prompt[:length]) for length in lengths if length < len(prompt))
            starts.append(Start(prompt, next((one for one in found if one is not None), None)))
        return starts

    def _sample(self, logits: Tensor, requests: Sequence[_Request]) -> tuple[Tensor, Tensor]:
        """A token for each row, and its log-probability."""
        logits = logits.float()
        if not self.temperature:
            tokens = logits.argmax(-1)
            return tokens, torch.zeros_like(tokens, dtype=torch.float32)
        logprobs = torch.log_softmax(logits / self.temperature, dim=-1)
        # One number per token, and where it falls among the probabilities: unlike
        # `torch.multinomial` over all rows, this asks nothing of the neighbours.
        drawn = [[one.chance.random()] for one in requests]
        sums = logprobs.exp().double().cumsum(-1)
        point = torch.tensor(drawn, dtype=torch.float64, device=sums.device) * sums[:, -1:]
        tokens = torch.searchsorted(sums, point, right=True).clamp(max=sums.shape[-1] - 1)
        return tokens[:, 0], logprobs.gather(-1, tokens)[:, 0]


def _note(
    rows: BufferedRows | PaddedRows,
    row: int,
    request: _Request,
    known: dict[tuple[int, ...], RowCache],
) -> None:
    # The last token was sampled and not read.
    found = rows.row_cache(row)
    if found is not None and found.tokens:
        known[(*request.prompt, *request.ids[:-1])] = found
