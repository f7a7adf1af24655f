"""Programs of the machine as commands of its shell: one run of a module, from a shell command and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.engines.shell.wasi.requests import Request, Requests
from agentworld_sim.engines.shell.wasi.wasi_kernel import ProgramEnded, WasiKernel
from agentworld_sim.engines.shell.wasi.wasm_module import Engine, WasmModule
from agentworld_sim.errors import EngineFailure

MEMORY_BYTES = 512 << 20
"""Of one run. A program that asks for more is told that there is none."""

KILLED = 137
"""The exit code of a program that the machine had to end."""

GRACE_S = 0.2
"""Host time before a turn's end, in which a program is ended and its files are written."""


def run_process(
    module: WasmModule,
    call: CommandCall,
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    requests: Mapping[str, Request] = {},
) -> CommandResult:
    """Runs a program on the world's files and waits for its end.

    Args:
        module: The program.
        call: The shell's command. Standard input, directory, clock and chance are its.
        argv: All words, the program's own name first.
        env: The environment, instead of the call's.
        requests: What this program may ask the machine beside what all may, by name.

    Raises:
        EngineFailure: the module is not whole, or ended in a way that no program of its kind does.
    """
    streams = call.streams or _TextStreams(call)
    kernel = WasiKernel(
        live=call.files,
        argv=argv,
        env=dict(call.env if env is None else env),
        clock=call.clock,
        random=call.random,
        streams=streams,
        request=Requests(call, requests).answer,
        ids=lambda user, group: (user_names(call).number(user), group_names(call).number(group)),
    )
    with module.lend() as engine:

        def watch(_: bool) -> None:
            if call.seconds_left() < GRACE_S:
                engine.stop()

        # The files are slow inside a callback of the shell, and fast on another thread.
        call_deep(lambda: _run(module, engine, kernel), watch=watch)
    code = KILLED if kernel.exit_code is None else kernel.exit_code
    if isinstance(streams, _TextStreams):
        out, err = (bytes(data).decode("utf-8", "replace") for data in streams.outputs.values())
        return CommandResult(out, err, code)
    return CommandResult(exit_code=code)


def _run(module: WasmModule, engine: Engine, kernel: WasiKernel) -> None:
    imports = kernel.imports()
    try:
        stopped = engine.run(imports, MEMORY_BYTES, module.patches, kernel.use_memory)
        if stopped is None:
            kernel.exit_code = 0
        elif "interrupt" not in stopped:
            raise EngineFailure(f"{kernel.argv[0]} stopped where no program does: {stopped}")
    except ProgramEnded:
        pass
    finally:
        kernel.give_back()


class _TextStreams:
    """Those of a command whose input is there when it begins, and whose output is taken when it has ended."""

    def __init__(self, call: CommandCall) -> None:
        self.outputs = {1: bytearray(), 2: bytearray()}
        self._input = BytesIO((call.stdin or "").encode("utf-8", "surrogateescape"))

    def read(self, size: int) -> bytes:
        return self._input.read(size)

    def write(self, number: int, data: bytes) -> None:
        self.outputs[number] += data
