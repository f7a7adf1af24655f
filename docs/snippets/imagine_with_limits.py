import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from agentworld_sim import SqliteStore, ToolCall, ToolSpec, World
from agentworld_sim.errors import BudgetSpent, UnusableReply
from agentworld_sim.imagination import WorldModel, usage_of
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer

CALL = ToolCall("track_parcel", {"number": "7"})


async def main(url: str, folder: Path) -> None:
    model = WorldModel(ModelSettings(url=url, reasks=1, max_tokens=4_000, token_budget=2_000))
    store = SqliteStore(folder / "worlds.sqlite")
    async with await World.create(id="lab", store=store, model=model) as world:
        world.add_tools([ToolSpec(name="track_parcel")])
        try:
            await world.step(CALL)
        except UnusableReply as failure:
            # Nothing happened in the world; what was said is kept beside its history.
            print([exchange.problem for exchange in failure.exchanges])
            print(len(await world.trajectory()), "turns,", len(await world.failures()), "failed")
        # The same step would ask the same. Another seed asks the sampler for something else.
        fork = await world.fork(seed=1)
        try:
            while True:
                await fork.step(CALL)
        except BudgetSpent as spent:
            print(spent)
        usage = usage_of(await fork.trajectory())
        print(usage.requests, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        await fork.close()
    store.close()


# Your model's URL goes here. This server answers nothing twice, and sensibly after that.
with (
    ScriptedModelServer(["", "", *["In Utrecht."] * 50]) as server,
    TemporaryDirectory() as name,
):
    asyncio.run(main(server.url, Path(name)))
