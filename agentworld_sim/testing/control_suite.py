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
        calls: Calls of the scenario's tools, one after another, that it strikes and that it does not.
        scenario: What the world holds at the beginning; an empty machine by default.
        engines: What answers; as for `World.create`.

    Raises:
        AssertionError: the control breaks a rule, which is named.
    """
    store, model = MemoryStore(), None if engines else False

    def require(holds: bool, problem: str) -> None:
        if not holds:
            rule = f"it decides by the step alone, and {problem}"
            raise AssertionError(f"the control {control.name!r} breaks a rule: {rule}.")

    async def begin() -> World:
        start = scenario or empty_scenario()
        return await World.create(
            start, store=store, engines=engines, model=model, controls=[control]
        )

    async with await begin() as world:
        turns = [await world.step(call) for call in calls]
    async with await begin() as other:
        require([await other.step(call) for call in calls] == turns, "two worlds differ")
    async with await begin() as at_once:
        together = await asyncio.gather(*map(at_once.step, calls))
        require(list(together) == turns, "calls at the same time differ")
    async with await World.open(
        world.id, store=store, engines=engines, model=model, controls=[control]
    ) as opened:
        for turn in turns:
            canonical_json(turn.change.to_json())
            again = await opened.step(turn.call, at=turn.parent)
            require(again == turn, f"a reopened world gives another turn at {turn.call}")
            async with await opened.fork(at=turn.parent) as fork:
                forked = await fork.step(turn.call)
            require(forked == turn, f"a fork before {turn.call} gives another turn")
    require(
        control.describe() == control.describe(), "`describe` says something else the next time"
    )
    return turns
