"""How many files and functions of ours one call enters: `python -m benchmarks.call_path`.

A reader who follows a call has to open each of these files. Python frames only; what the embedded shell
does in Rust is not seen. All threads are counted.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from agentworld_sim import ModelSettings, ToolCall, World, WorldModel
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply

ROOT = str(Path(__file__).resolve().parents[1])
PACKAGES = tuple(
    f"{ROOT}/{folder}/" for folder in ("agentworld_sim", "mcp_shim", "graphs", "fixtures")
)
SCRIPTED = "/scripted/"
"""The double of a model server is no part of the path."""

WARM_UP = 12


_STATUS = ScriptedReply.observation(
    '{"stdout": "On branch main\\n", "stderr": "", "exit_code": 0, "operations": []}'
)


@dataclass
class CallPath:
    """The code of ours that ran."""

    functions: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    """File, name and first line."""
    calls: int = 0
    counting: bool = False

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Counts one frame; for `sys.setprofile`."""
        if not self.counting or event != "call":
            return
        code = frame.f_code
        file = code.co_filename
        if file.startswith(PACKAGES) and SCRIPTED not in file:
            self.functions.add((file, code.co_qualname, code.co_firstlineno))
            self.calls += 1

    @property
    def files(self) -> set[str]:
        """The files entered."""
        return {file for file, _, _ in self.functions}


async def traced(call: Callable[[int], Awaitable[object]]) -> CallPath:
    """The path of one awaited call, after some that warm it up; each is given its number."""
    path = CallPath()
    # Before the first call: threads that run already cannot be followed in Python 3.11.
    threading.setprofile(path.profile)
    try:
        for number in range(WARM_UP):
            await call(number)
        path.counting = True
        sys.setprofile(path.profile)
        await call(WARM_UP)
    finally:
        # Threads that were begun meanwhile go on calling `profile`.
        path.counting = False
        sys.setprofile(None)
        threading.setprofile(_nothing)
    return path


def _nothing(*_: object) -> None:
    """Follows no thread."""


async def paths() -> dict[str, CallPath]:
    """Computed in the shell, and imagined in the middle of a pipe."""
    found: dict[str, CallPath] = {}
    async with await World.create(model=False) as world:
        echo = ToolCall("bash", {"command": "echo hi"})
        found["echo hi"] = await traced(lambda _: world.step(echo))
    async with ScriptedModelServer(lambda _: _STATUS) as server:
        model = WorldModel(ModelSettings(url=server.url))
        async with await World.create(model=model) as world:

            async def imagined(number: int) -> object:
                # Another command each time, since equal ones are not asked twice.
                command = f"git show {number} | tr a-z A-Z"
                return await world.step(ToolCall("bash", {"command": command}))

            found["git show 12 | tr a-z A-Z"] = await traced(imagined)
    return found


def main() -> None:
    """Prints the table."""
    print("| call | files | functions | calls |\n|---|---:|---:|---:|")
    for name, path in asyncio.run(paths()).items():
        row = f"{len(path.files)} | {len(path.functions)} | {path.calls}"
        print(f"| `{name.replace('|', chr(92) + '|')}` | {row} |")


if __name__ == "__main__":
    main()
