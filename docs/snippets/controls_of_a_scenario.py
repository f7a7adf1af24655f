import asyncio

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.controls import controls_in

SCENARIO = """
name: nightly-report
domains: [terminal]
controls:
  - {kind: disk-full, name: full, tool: bash, nth: [2], free_bytes: 20}
  - {kind: slow-answer, name: slow, arguments: {command: "*sleep*"}, by_us: 5000000}
"""


async def main() -> None:
    async with await World.create(Scenario.parse(SCENARIO)) as world:
        for command in (
            "seq 3 > /root/a",
            "echo first > /root/b; seq 99 > /root/c; echo and on",
            "cat /root/b; rm /root/a; df / | tail -1",
        ):
            turn = await world.step(ToolCall("bash", {"command": command}))
            print(controls_in(turn), turn.observation.text)


asyncio.run(main())
