"""One half of a run, in a process of its own: `python elsewhere.py SHAPE WAY FOLDER [resume]`.

Its world answers every question differently each time, as a model may.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agentworld_graphs._thread_refs import marks_of
from agentworld_sim import Observation, SqliteStore, World
from tests.graphs.conftest import Lab
from tests.graphs.shapes import SHAPES, Setting


async def main(shape: str, way: str, folder: Path, *, resumed: bool) -> None:
    lab = Lab()

    def add(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        item = arguments["item"]
        if item == "b" and not resumed:
            os._exit(9)
        said = f"{item}-{uuid4().hex}"
        print(json.dumps({"answered": said}), flush=True)
        return Observation(text=said), {"items": [*values.get("items", ()), said]}

    engine = lab.engine(add=add)
    store = SqliteStore(folder / "worlds")
    world = (
        await World.open("it", store=store, engines=[engine])
        if resumed
        else await World.create(lab.scenario(), id="it", store=store, engines=[engine])
    )
    script = [
        lab.adds("0"),
        lab.adds("a", "a2", "b", "c"),
        lab.asks(lab.call("look", "l")),
        AIMessage("done"),
    ]
    saved = str(folder / "threads")
    async with AsyncExitStack() as stack:
        saver: Any = (
            stack.enter_context(SqliteSaver.from_conn_string(saved))
            if way == "invoke"
            else await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(saved))
        )
        graph = SHAPES[shape](Setting(lab, world, script, saver))
        given = None if resumed else {"messages": [("user", "go")]}
        if way == "invoke":
            final = await asyncio.to_thread(graph.invoke, given, lab.thread(), durability="sync")
        else:
            final = await graph.ainvoke(given, lab.thread(), durability="sync")
    marks = [marks_of(one) for one in final["messages"] if one.type == "tool"]
    chain = [(mark["parent"], mark["ref"]) for mark in marks if mark]
    print(json.dumps({"answers": lab.answers(final), "chain": chain}), flush=True)


if __name__ == "__main__":
    shape, way, folder, *rest = sys.argv[1:]
    asyncio.run(main(shape, way, Path(folder), resumed=bool(rest)))
