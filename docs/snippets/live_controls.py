import asyncio

from agentworld_sim import ToolCall, World

OUTAGE = {"kind": "fault", "name": "outage", "tool": "bash", "error": "503 Service Unavailable"}


async def main() -> None:
    async with await World.create() as world:
        call = ToolCall("bash", {"command": "echo hi"})
        before = (await world.step(call)).ref
        await world.switch_controls(add=[OUTAGE])
        during = await world.step(call)
        await world.switch_controls(remove=["outage"])
        after = await world.step(call)
        for turn in (during, after):
            print(turn.observation.provenance, turn.observation.text.strip())
        async with await world.fork(at=during.ref) as fork, await world.fork(at=before) as early:
            for other in (fork, early):
                print((await other.step(call)).observation.text.strip())


asyncio.run(main())
