"""The corpus of `tests/fidelity`, with text programs that Debian's sources were built to: equality and speed.

`python -m tests.engines.shell.built_programs`, after `make programs`, prints what `results.json` holds.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from agentworld_sim.engines.shell import commands
from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.wasi.process import run_process
from agentworld_sim.engines.shell.wasi.wasm_module import WasmModule
from tests.engines.shell.real_tools import SimulatedMachine
from tests.fidelity.compare import compare_topic, topics
from tests.fidelity.live import WorldShell

BUILT = Path("build/programs")
NAMES = {"mawk": ("awk", "mawk", "/proc/self/awk")}
"""Programs, and the commands that they answer."""

SPEED = {
    "mawk": ["awk '{ print $2 }' small", "awk '{ s += $1 } END { print s }' large"],
}


def program(path: Path) -> Command:
    module = WasmModule(path.name, lambda: path, hashlib.sha256(path.read_bytes()).hexdigest())

    def command(call: CommandCall) -> CommandResult:
        return run_process(module, call, [call.name.rpartition("/")[2], *call.argv])

    return command


async def equal() -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for topic in topics([]):
        result = await compare_topic(topic, WorldShell(), only=[])
        for session in result.sessions:
            for command in session.commands:
                for name, words in NAMES.items():
                    if any(f"{word} " in command.recorded.run for word in words):
                        good, all_ = found.get(name, (0, 0))
                        found[name] = (good + command.equal, all_ + 1)
    return found


def milliseconds(scripts: list[str]) -> Iterator[float]:
    machine = SimulatedMachine()
    machine("printf 'a 1\nb 2\nc 3\n' > small; seq 10000 > large")
    for script in scripts:
        times: list[float] = []
        for _ in range(15):
            began = time.perf_counter()
            machine(script)
            times.append((time.perf_counter() - began) * 1000)
        yield round(median(times), 1)
    machine.live.close()


def main() -> None:
    built = [name for name in NAMES if (BUILT / f"{name}.wasm").exists()]
    report: dict[str, Any] = {"built": built}
    for phase in ("today", "built"):
        if phase == "built":
            for name in built:
                run = program(BUILT / f"{name}.wasm")
                commands.programs().update(dict.fromkeys(NAMES[name], run))  # type: ignore[attr-defined]
            for held in (commands.programs_of, commands.readers, commands.plain_commands):
                held.cache_clear()
        report[phase] = {
            "equal": asyncio.run(equal()),
            "milliseconds": {name: list(milliseconds(SPEED[name])) for name in built},
        }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
