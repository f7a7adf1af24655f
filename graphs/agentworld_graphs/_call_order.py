"""The calls of one message: answered in the order of the message, each once.

Tool nodes run the calls of a message in parallel: in threads, in tasks of one loop, or as tasks of the
graph. Here each waits for those before it, so that a run is the same every time.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import weakref
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from langgraph.errors import GraphBubbleUp

from agentworld_graphs._call_site import AnyFuture, CallSite, digest
from agentworld_graphs._thread_refs import Mark, remember_parents
from agentworld_sim import Observation, ToolCall, Turn, WorldRef
from agentworld_sim.runtime.sync import TurnLock
from agentworld_sim.store import Origin

ATTEMPTS = 4
"""How many attempts at one batch are told apart."""

PATIENCE_S = 0.25
"""How long a call waits for one before it that may never come. Only in a plain `ToolNode` that was
given a whole message: everywhere else it can be seen whether it will come."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What is kept of a turn."""

    call: ToolCall
    observation: Observation
    mark: Mark
    """What a message carries of it."""

    @classmethod
    def of(cls, turn: Turn, world: str, seed: int) -> CallAnswer:
        mark: Mark = {
            "world": world,
            "ref": turn.ref,
            "parent": turn.parent,
            "provenance": turn.observation.provenance,
            "seed": seed,
        }
        model = turn.exchanges[-1].parameters.get("model") if turn.exchanges else None
        if model:
            mark["model"] = str(model)
        return cls(turn.call, turn.observation, mark)


@dataclass(slots=True)
class CallRecord:
    """The answers that one task got to one call, in the order in which it asked.

    A task may ask several times, when something around the tool tries again. When the task itself is
    run again, after an interrupt or a failure, it asks again from the beginning.
    """

    answers: list[CallAnswer] = field(default_factory=list[CallAnswer])
    asked: int = 0
    attempt: object = None

    def next(self, call: ToolCall, attempt: object) -> CallAnswer | None:
        """The answer that an earlier attempt got here; `None` when this question is new."""
        if self.attempt is not attempt:
            self.attempt, self.asked = attempt, 0
        if self.asked < len(self.answers):
            kept = self.answers[self.asked]
            if (kept.call.name, kept.call.arguments) == (call.name, call.arguments):
                self.asked += 1
                return kept
        # From here on this attempt takes another way than those before it.
        del self.answers[self.asked :]
        return None

    def add(self, answer: CallAnswer) -> None:
        self.answers.append(answer)
        self.asked = len(self.answers)


class Attempt:
    """One attempt at a batch: who has come, who is through."""

    def __init__(self, token: object) -> None:
        # LangGraph's mapping of tasks holds their inputs and results, and must not live on here.
        try:
            self._token: Callable[[], object] = weakref.ref(token)
        except TypeError:
            self._token = lambda: token
        self.supervised = False
        """Whether a `SimToolNode` reports the end of every call."""
        self.arrived: set[str] = set()
        self.failed: dict[str, Exception] = {}
        """What calls failed with on our side, or what was called inside of them."""
        self.left: dict[str, GraphBubbleUp] = {}
        """What left the graph instead of an answer: an interrupt, for example."""
        self.refs: dict[str, WorldRef] = {}
        """Where the world stands after each call."""
        self.within: dict[str, CallAnswer] = {}
        """The first of the answers that were given inside of a call that is not simulated."""
        self._ends: dict[str, concurrent.futures.Future[None]] = {}

    def is_of(self, token: object) -> bool:
        return self._token() is token

    def end_of(self, call: str) -> concurrent.futures.Future[None]:
        return self._ends.setdefault(call, concurrent.futures.Future())

    def end(self, call: str) -> None:
        """`call` is through, or will not come: those after it need not wait for it."""
        with suppress(concurrent.futures.InvalidStateError):
            self.end_of(call).set_result(None)

    async def wait_for_earlier(self, site: CallSite, simulated: Container[str]) -> None:
        """Waits for the calls before this one: also for those that no world answers, since an agent
        that is called as a tool asks the world as well. Only a plain `ToolNode` does not tell when
        those end.

        Raises:
            Exception: what an earlier call failed with. Answering this one now would put it first.
            GraphBubbleUp: what an earlier call of the same task left the graph with.
        """
        await wait_for(site.before)
        if not site.earlier:
            return
        earlier = [call for call, _ in site.earlier]
        if site.tasks is not None:
            await wait_for(site.tasks[call] for call in earlier if call in site.tasks)
        elif self.supervised:
            await wait_for(map(self.end_of, earlier))
        else:
            await self._wait_patiently([one for one, name in site.earlier if name in simulated])
        for call in earlier:
            if call in self.failed:
                raise self.failed[call]
            if call in self.left and site.tasks is None:
                # The task as a whole is run again. This call waits for that, to keep the order.
                raise self.left[call]

    async def _wait_patiently(self, earlier: list[str]) -> None:
        missing: list[str] = []
        while waiting := [call for call in earlier if not self.end_of(call).done()]:
            still_missing = [call for call in waiting if call not in self.arrived]
            if missing and still_missing == missing:
                for call in missing:
                    self.end(call)
                missing = []
                continue
            missing = still_missing
            await wait_for(map(self.end_of, waiting), timeout_s=PATIENCE_S if missing else None)


BEGINS = "+"
"""Before the origin of the first answer that a thread got."""


class CallSequence:
    """Calls that are answered one after another, each where the one before it left the world."""

    def __init__(self, base: WorldRef, site: CallSite, *, first: bool) -> None:
        self.tip = base
        """Where the next call continues."""
        self.written: WorldRef | None = None
        """What was written last into a graph's state."""
        self.lock = TurnLock()
        self.name = (first and site.talk_name) or site.batch_name
        """Under which the world's store keeps what it answered; empty where nothing can be resumed."""
        self.recalled = False
        """Whether the store was asked for it."""
        self._begins = first
        self._step = digest(site.step[1])
        self._records: dict[str, CallRecord] = {}

    def record(self, key: str) -> CallRecord:
        """The answers to one call of one task."""
        return self._records.setdefault(key, CallRecord())

    def follow(self, marks: Iterable[Mark]) -> None:
        """Goes on behind answers that were given from here on."""
        after = {mark["parent"]: mark["ref"] for mark in marks}
        while self.tip in after:
            self.tip = after.pop(self.tip)

    def may_be_known(self, resumed: bool) -> bool:
        """Whether the store may have answers of this chain, or know where its thread began."""
        return bool(self.name) and (self._begins or resumed)

    def origin(self, key: str, number: int) -> Origin | None:
        """What the store keeps with an answer; `None` where nothing can be resumed."""
        if not self.name:
            return None
        begins = BEGINS if self._begins else ""
        return Origin(self.name, f"{begins}{self._step}:{key}:{number}")

    def recall(self, asked: Sequence[tuple[str, Turn]], world: str, seed: int) -> None:
        """Takes over what was answered here before, perhaps in another process."""
        if self._begins:
            began = [turn.parent for origin, turn in asked if origin.startswith(BEGINS)]
            if began:
                # The world may stand elsewhere by now; the thread begins where it began.
                self.tip, self._begins = began[0], False
        for origin, turn in asked:
            step, key, number = origin.removeprefix(BEGINS).split(":")
            if step == self._step:
                self.record(key).answers[int(number) :] = [CallAnswer.of(turn, world, seed)]
                remember_parents(turn)
                self.advance(turn)
        self.recalled = True

    def advance(self, turn: Turn) -> None:
        """The next call continues after `turn`."""
        self.tip, self._begins = turn.ref, False


class CallBatch:
    """The calls of one message in one step of a run."""

    def __init__(self, chain: CallSequence) -> None:
        self.chain = chain
        """Shared by all that is called inside of one of these calls."""
        self._attempts: list[Attempt] = []

    def attempt_of(self, token: object) -> Attempt:
        for known in self._attempts:
            if known.is_of(token):
                return known
        made = Attempt(token)
        self._attempts = [*self._attempts[1 - ATTEMPTS :], made]
        return made


async def wait_for(futures: Iterable[AnyFuture], *, timeout_s: float | None = None) -> None:
    """Waits for futures of any kind and any loop, whatever comes of them."""
    loop = asyncio.get_running_loop()
    waits = [_wake(loop, future) for future in futures if not future.done()]
    if waits:
        await asyncio.wait(waits, timeout=timeout_s)


def _wake(loop: asyncio.AbstractEventLoop, future: AnyFuture) -> asyncio.Future[None]:
    woken: asyncio.Future[None] = loop.create_future()

    def tell(_: Any) -> None:
        # The loop may be closed by then, when whoever waited was cancelled.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: woken.done() or woken.set_result(None))

    future.add_done_callback(tell)
    return woken
