import asyncio
import tempfile
from pathlib import Path

from agentworld_sim import SqliteStore, ToolCall, World


async def main(folder: Path) -> None:
    store = SqliteStore(folder / "worlds.sqlite")
    async with await World.create(id="lab", store=store) as world:
        early = await world.step(ToolCall("bash", {"command": "echo one > note"}))
        await world.step(ToolCall("bash", {"command": "echo two > note"}))

    # Later, also in another process: where it stood, or at any point before.
    async with await World.open("lab", store=store) as world:
        print(await world.read_file("/root/note"))
        print(await world.read_file("/root/note", at=early.ref))
        for turn in await world.trajectory():
            print(turn.to_line()[:60], "…")
    store.close()


with tempfile.TemporaryDirectory() as name:
    asyncio.run(main(Path(name)))
