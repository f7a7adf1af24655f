"""A shell session whose unknown commands somebody else answers.

Stop, ask, run again: the script is stopped at the command, the machine is thrown away, the imaginer is
awaited on the event loop with no thread held, and the turn is computed again from its beginning, in
which the command now has its answer. Clock, random source and files are those of the beginning, so
everything before the command happens exactly as it did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentworld_sim.engines.shell._engine_session import ShellEngineSession, is_quick, threads
from agentworld_sim.engines.shell._imagined import CommandAnswer
from agentworld_sim.engines.shell._live import LiveShell
from agentworld_sim.engines.shell._unknown import Misnamed, Unanswered, UnknownCommands
from agentworld_sim.engines.shell.limits import ShellLimits
from agentworld_sim.errors import AccessRefused, AgentworldError, EngineFailure
from agentworld_sim.ports import Answer, Imagined, Imaginer, TurnContext
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

MOST_RUNS = 200
"""Of one turn, beside those for answers: names are learned in a few."""

_STOPPED = Answer(Observation(text=""), StateChange(clock_us=0))
"""In place of an answer where the turn was stopped."""

BringUp = Callable[[WorldState, Blobs, UnknownCommands], LiveShell]


class ImaginingSession(ShellEngineSession):
    """Implements `EngineSession` where commands are imagined."""

    def __init__(
        self,
        live: LiveShell,
        state: WorldState,
        *,
        bring_up: BringUp,
        imaginer: Imaginer | None,
        unknown: UnknownCommands,
        limits: ShellLimits,
    ) -> None:
        """
        Args:
            live: The machine, in `state`.
            state: Where the session begins.
            bring_up: Makes another machine in a given state; blocking.
            imaginer: Answers the commands; without one, those whose route is `imagine` are refused.
            unknown: What `live` and every other machine of this session asks.
            limits: Of a turn.
        """
        super().__init__(live, state)
        self._bring_up = bring_up
        self._imaginer = imaginer
        self._unknown = unknown
        self._limits = limits
        self._down = False
        self._closed = False
        self._past_known = False
        self._memory: dict[str, Any] = {}
        self._replayed = False
        """Whether commands are answered from a recording."""
        self._stopped: Misnamed | Unanswered | None = None

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        exchanges: list[Exchange] = []
        try:
            return await self._answer(call, tool, context, exchanges)
        except AgentworldError as failure:
            failure.exchanges = (*exchanges, *failure.exchanges)
            raise

    async def _answer(
        self, call: ToolCall, tool: ToolSpec, context: TurnContext, exchanges: list[Exchange]
    ) -> Answer:
        """Answers a call; what was asked and said on the way is added to `exchanges`."""
        here = is_quick(call, tool) and self._unknown.names.simple
        asked = 0
        self._unknown.start_turn()
        for _ in range(MOST_RUNS + self._limits.imagined_commands):
            outcome = await self._run(call, tool, context, here=here)
            if isinstance(outcome, Answer):
                return self._finished(outcome, tuple(exchanges))
            self._take_down()
            if isinstance(outcome, Misnamed):
                self._unknown.learn(outcome)
            elif not await self._learned_past(context):
                asked += 1
                self._require_within(asked, outcome)
                imagined = await self._asked(outcome, context)
                exchanges += imagined.exchanges
                self._replayed = imagined.provenance == "replayed"
                self._require_usable(outcome, imagined.value)
                self._unknown.give(outcome, imagined.value)
        raise EngineFailure(
            f"The call {call.name!r} found new commands in each of {MOST_RUNS} runs. Name commands"
            " literally, or give them the route 'compute'."
        )

    async def _run(
        self, call: ToolCall, tool: ToolSpec, context: TurnContext, *, here: bool
    ) -> Answer | Misnamed | Unanswered:
        """Computes the turn as far as it can be."""
        await self._require_up(context)
        self._unknown.start_run()
        self._stopped = None
        answer = await self._computed(call, tool, context, here=here)
        return self._stopped or answer

    def _compute(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        try:
            return super()._compute(call, tool, context)
        except (Misnamed, Unanswered) as stopped:
            # Its frames hold the machine, and so would a future that it is raised through: file
            # descriptors that nobody needs while an imaginer is asked.
            stopped.__context__ = None
            self._stopped = stopped.with_traceback(None)
            return _STOPPED

    def _finished(self, answer: Answer, exchanges: tuple[Exchange, ...]) -> Answer:
        inner = self._unknown.turn.inner()
        self._unknown.end_turn()
        if not inner:
            return answer
        provenance = "replayed" if self._replayed else "imagined"
        observation = replace(answer.observation, provenance=provenance)
        return replace(answer, observation=observation, inner=inner, exchanges=exchanges)

    async def move(self, state: WorldState, blobs: Blobs) -> bool:
        if self._down or not await super().move(state, blobs):
            return False
        # What was learned and asked belongs to the branch that it came from.
        self._unknown = self._live.forget_unknown()
        self._past_known = self._replayed = False
        self._memory = {}
        return True

    def close(self) -> None:
        self._closed = True
        if not self._down:
            super().close()

    def _take_down(self) -> None:
        """Frees the machine: it is in the middle of a turn."""
        self._down = True
        self._live.close()
        # Its file systems have file descriptors too.
        del self._live

    async def _require_up(self, context: TurnContext) -> None:
        """Brings the machine up in the state before the turn, if it is down."""
        if not self._down:
            return
        loop = asyncio.get_running_loop()
        self._live = await loop.run_in_executor(
            threads, self._bring_up, context.state, context.blobs, self._unknown
        )
        self._down = False
        if self._closed:
            self._take_down()
            raise EngineFailure("the world was closed while one of its commands was being answered")

    async def _learned_past(self, context: TurnContext) -> bool:
        """Looks at the turns before the session, once; whether commands were answered in them."""
        if self._past_known:
            return False
        self._past_known = True
        history = await context.history()
        self._unknown.remember(history)
        past = [turn.observation.provenance for turn in history if turn.inner]
        self._replayed = self._replayed or "replayed" in past[-1:]
        return bool(past)

    def _require_within(self, asked: int, unanswered: Unanswered) -> None:
        if asked > self._limits.imagined_commands:
            raise EngineFailure(
                f"The script {unanswered.question.script[:300]!r} calls more than"
                f" {self._limits.imagined_commands} commands that have to be imagined"
                " (ShellLimits.imagined_commands). Raise the limit, or call fewer."
            )

    async def _asked(self, unanswered: Unanswered, context: TurnContext) -> Imagined[CommandAnswer]:
        if self._imaginer is None:
            words = " ".join(unanswered.question.argv)
            raise AccessRefused(
                f"the command {words[:300]!r} has the route 'imagine', and this world has no language"
                " world model. Name one (AGENTWORLD_MODEL_URL, or `model=`), or take the route away."
            )
        question = replace(
            unanswered.question,
            earlier=tuple(self._unknown.turn.asked),
            history=await context.history(),
            memory=self._memory,
        )
        return await self._imaginer.ask(question, context)

    def _require_usable(self, unanswered: Unanswered, answer: CommandAnswer) -> None:
        problem = unanswered.question.validate(answer)
        if problem is not None:
            words = " ".join(unanswered.question.argv)
            raise EngineFailure(
                f"The recorded or imagined answer to the command {words[:300]!r} cannot be used:"
                f" {problem}. It cannot be carried out here: record it anew."
            )
