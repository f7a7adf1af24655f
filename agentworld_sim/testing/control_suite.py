"""What holds for every control.

```python
await check_control(MyControl(name="mine", tool="my_tool"), CALLS, scenario=SCENARIO, engines=[ENGINE])
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentworld_sim.ports import Control, Engine
from agentworld_sim.scenario import Scenario, empty_scenario
from agentworld_sim.store.memory_store import MemoryStore
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Turn
from agentworld_sim.world import World


async def check_control(
    control: Control,
    calls: Sequence[ToolCall],
    *,
    scenario: Scenario | None = None,
    engines: Sequence[Engine] | None = None,
) -> list[Turn]:
    """The turns of the calls under the control. A control that decides by anything but the step breaks a rule.

    Args:
        control: The control.
        calls: Calls of the scenario's tools, one after another, that it strikes and that it does not.
        scenario: What the world holds at the beginning; an empty machine by default.
        engines: What answers; as for `World.create`.

    Raises:
        AssertionError: the control breaks a rule, which is named.
    """
    suite = _ControlSuite(control, calls, scenario or empty_scenario(), engines)
    turns = await suite.play()
    suite.require(suite.refs(await suite.play()) == suite.refs(turns), "two worlds differ")
    await suite.check_points(turns)
    await suite.check_parallel(turns)
    suite.check_description()
    return turns


class _ControlSuite:
    def __init__(
        self,
        control: Control,
        calls: Sequence[ToolCall],
        scenario: Scenario,
        engines: Sequence[Engine] | None,
    ) -> None:
        self._control = control
        self._calls = calls
        self._scenario = scenario
        self._engines = engines
        self._store = MemoryStore()

    def require(self, holds: bool, problem: str) -> None:
        if not holds:
            raise AssertionError(
                f"the control {self._control.name!r} breaks a rule: it decides by the step alone, and {problem}."
            )

    @staticmethod
    def refs(turns: Sequence[Turn]) -> list[str]:
        return [turn.ref for turn in turns]

    async def _world(self) -> World:
        return await World.create(
            self._scenario,
            store=self._store,
            engines=self._engines,
            model=None if self._engines else False,
            controls=[self._control],
        )

    async def play(self) -> list[Turn]:
        """The calls one after another in a world of their own."""
        async with await self._world() as world:
            return [await world.step(call) for call in self._calls]

    async def check_points(self, turns: Sequence[Turn]) -> None:
        """Reopened, forked and gone back to, each point leads to the next."""
        async with await self._world() as world:
            for turn in turns:
                canonical_json(turn.change.to_json())
                await world.step(turn.call)
            for turn in turns:
                again = await world.step(turn.call, at=turn.parent)
                self.require(again == turn, f"going back to {turn.call} gives another turn")
                async with await world.fork(at=turn.parent) as fork:
                    forked = await fork.step(turn.call)
                self.require(forked == turn, f"a fork before {turn.call} gives another turn")
                async with await World.open(
                    world.id,
                    store=self._store,
                    at=turn.parent,
                    engines=self._engines,
                    model=None if self._engines else False,
                    controls=[self._control],
                ) as reopened:
                    opened = await reopened.step(turn.call, at=turn.parent)
                self.require(
                    opened == turn, f"a world opened before {turn.call} gives another turn"
                )

    async def check_parallel(self, turns: Sequence[Turn]) -> None:
        """Calls that are made at once are answered in their order."""
        async with await self._world() as world:
            at_once = await asyncio.gather(*(world.step(call) for call in self._calls))
        self.require(self.refs(at_once) == self.refs(turns), "calls at the same time differ")

    def check_description(self) -> None:
        """What a model is told."""
        said = [self._control.describe() for _ in range(2)]
        self.require(said[0] == said[1], "`describe` says something else the next time")
