"""Programs of the machine as commands of its shell: one run of a module, from a shell command and back."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import wasmtime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.engines.shell.wasi.wasi_kernel import ProgramEnded, Streams, WasiKernel
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
) -> CommandResult:
    """Runs a program on the world's files and waits for its end.

    Args:
        module: The program.
        call: The shell's command. Standard input, directory, clock and chance are its.
        argv: All words, the program's own name first.
        env: The environment, instead of the call's.

    Raises:
        EngineFailure: the module is not whole, or ended in a way that no program of its kind does.
    """
    outputs = {1: bytearray(), 2: bytearray()}
    stdin = memoryview((call.stdin or "").encode("utf-8", "surrogateescape"))
    place = 0

    def read(size: int) -> bytes:
        nonlocal place
        data = bytes(stdin[place : place + size])
        place += len(data)
        return data

    kernel = WasiKernel(
        live=call.files,
        argv=argv,
        env=dict(call.env if env is None else env),
        clock=call.clock,
        random=call.random,
        streams=Streams(read, lambda number, data: outputs[number].extend(data)),
        request=lambda kernel, data: b"",
    )
    with module.lend() as engine:

        def watch(_: bool) -> None:
            if call.seconds_left() < GRACE_S:
                engine.stop()

        # The files are slow inside a callback of the shell, and fast on another thread.
        call_deep(lambda: _run(module, engine, kernel), watch=watch)
    out, err = (bytes(data).decode("utf-8", "surrogateescape") for data in outputs.values())
    return CommandResult(out, err, KILLED if kernel.exit_code is None else kernel.exit_code)


def _run(module: WasmModule, engine: Engine, kernel: WasiKernel) -> None:
    store = wasmtime.Store(engine.engine)
    store.set_limits(memory_size=MEMORY_BYTES)
    store.set_epoch_deadline(1)
    instance = engine.instantiate(store, kernel.imports())
    exports = instance.exports(store)
    memory, start = exports["memory"], exports["_start"]
    assert isinstance(memory, wasmtime.Memory)
    assert isinstance(start, wasmtime.Func)
    kernel.use_memory(lambda: ctypes.addressof(memory.data_ptr(store).contents))
    for address, data in module.patches.items():
        memory.write(store, data, address)
    try:
        start(store)
        kernel.exit_code = 0
    except ProgramEnded:
        pass
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        if kernel.exit_code is None and "interrupt" not in str(error):
            raise EngineFailure(
                f"{kernel.argv[0]} stopped where no program does: {error}"
            ) from error
    finally:
        store.close()
        kernel.finish()
