"""A real MCP server over stdio, which keeps the task's records in a SQLite file: the shipped one, or a user's."""

from __future__ import annotations

import os
import shlex
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentworld_sim.bench.transfer.places import PlaceAnswer, read_answer
from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.errors import EngineFailure
from agentworld_sim.extras import require
from agentworld_sim.scenario import RecordGoal
from agentworld_sim.types.tools import ToolCall

Records = dict[str, dict[str, dict[str, Any]]]

SERVER = (sys.executable, "-m", "agentworld_mcp_shim.ticket_server")
"""The shipped one. A command is given the file last."""


class RealServer:
    """Implements `Place`."""

    def __init__(self, task: TransferTask, stack: AsyncExitStack, client: Any, file: Path) -> None:
        self._goals, self._stack = task.scenario.goals, stack
        self._client, self._file = client, file
        self._keys = {name: about["key"] for name, about in task.document["tables"].items()}
        self._start = self.tables()

    @classmethod
    async def open(cls, task: TransferTask, command: Sequence[str] = SERVER) -> RealServer:
        mcp = require("mcp", extra="mcp")
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="agentworld-transfer-"))
            file = Path(folder) / "records.sqlite"
            records = sqlite3.connect(file)
            for table, about in task.document["tables"].items():
                names, key = list(about["fields"]), about["key"]
                # An INTEGER PRIMARY KEY numbers new records.
                kind = "INTEGER" if about["fields"][key].get("type") == "integer" else "TEXT"
                columns = (
                    f'"{name}" {kind} PRIMARY KEY' if name == key else f'"{name}"' for name in names
                )
                records.execute(f'CREATE TABLE "{table}" ({", ".join(columns)})')
                statement = f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(names))})'
                records.executemany(
                    statement, [[one.get(name) for name in names] for one in about["records"]]
                )
            records.commit()
            records.close()
            server = mcp.StdioServerParameters(
                command=command[0],
                args=[*command[1:], str(file)],
                env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
            )
            try:
                client = await stack.enter_async_context(mcp.Client(server))
            except Exception as error:
                raise EngineFailure(
                    "the real MCP server cannot be started; what it said stands above. Try"
                    f" `{shlex.join(command)} FILE`."
                ) from error
            return cls(task, stack.pop_all(), client, file)

    async def call(self, call: ToolCall) -> PlaceAnswer:
        said = await self._client.call_tool(call.name, dict(call.arguments))
        text = "".join(part.text for part in said.content)
        return PlaceAnswer(text, read_answer(text, said.is_error))

    async def problems(self, finished: bool) -> list[str]:
        now = self.tables()
        found: list[str] = []
        asked: set[tuple[str, str]] = set()
        """What goals ask for: what else has changed is wrong."""
        for goal in self._goals:
            if not isinstance(goal, RecordGoal):
                continue
            before, after = self._start[goal.record], now[goal.record]
            if goal.added is not None:
                fitting = [
                    key for key in after.keys() - before.keys() if _has(after[key], goal.added)
                ]
                met = len(fitting) == 1
            else:
                wanted = goal.deleted or goal.where or {}
                fitting = [key for key, one in before.items() if _has(one, wanted)]
                left = [after.get(key) for key in fitting]
                met = bool(fitting) and all(
                    one is None if goal.deleted else _has(one, goal.changed or {}) for one in left
                )
            asked |= {(goal.record, key) for key in fitting}
            if not met:
                found.append(f"{goal.record}: {[after.get(key) for key in fitting]}")
        changed = {
            (table, key)
            for table, before in self._start.items()
            for key in before.keys() | now[table].keys()
            if before.get(key) != now[table].get(key)
        }
        if others := changed - asked:
            found.append(f"changed besides: {sorted(others)}")
        return found

    async def close(self) -> None:
        await self._stack.aclose()

    def tables(self) -> Records:
        """The records that the server keeps now, by their keys as texts."""
        with sqlite3.connect(f"file:{self._file}?mode=ro", uri=True) as records:
            records.row_factory = sqlite3.Row
            return {
                table: {
                    str(one[key]): dict(one) for one in records.execute(f'SELECT * FROM "{table}"')
                }
                for table, key in self._keys.items()
            }


def _has(record: dict[str, Any] | None, fields: Any) -> bool:
    return record is not None and all(record.get(name) == value for name, value in fields.items())
