"""Programs of the machine as commands of its shell: one run of a module, from a shell command and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import Literal

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.engines.shell.wasi.machine_requests import Request, Requests
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
    memory: Mapping[int, bytes] = {},
) -> CommandResult:
    """Runs a program on the world's files and waits for its end.

    Args:
        module: The program.
        call: The shell's command. Standard input, directory, clock and chance are its.
        argv: All words, the program's own name first.
        env: The environment, instead of the call's.
        requests: What this program may ask the machine beside what all may, by name.
        memory: What is written into its memory before it starts, beside the module's patches, by address.

    Raises:
        EngineFailure: the module is not whole, or ended in a way that no program of its kind does.
    """
    streams = call.streams or _HeldStreams(call)
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
    patches = {**module.patches, **memory}
    with module.lend() as engine:

        def watch(_: bool) -> None:
            if call.seconds_left() < GRACE_S:
                engine.stop()

        # The files are slow inside a callback of the shell, and fast on another thread.
        call_deep(lambda: _run(patches, engine, kernel), watch=watch)
    code = KILLED if kernel.exit_code is None else kernel.exit_code
    if isinstance(streams, _HeldStreams):
        return streams.result(code)
    return CommandResult(exit_code=code)


def _run(patches: Mapping[int, bytes], engine: Engine, kernel: WasiKernel) -> None:
    imports = kernel.imports()
    try:
        stopped = engine.run(imports, MEMORY_BYTES, patches, kernel.memory)
        if stopped is None:
            kernel.exit_code = 0
        elif "interrupt" not in stopped:
            raise EngineFailure(f"{kernel.argv[0]} stopped where no program does: {stopped}")
    except ProgramEnded:
        pass
    finally:
        # Nobody may read its last output any more.
        with suppress(BrokenPipeError):
            kernel.give_back()


class _HeldStreams:
    """Those of a command whose input is there when it begins, and whose output is taken when it has ended."""

    def __init__(self, call: CommandCall) -> None:
        self._pieces: list[tuple[int, bytes]] = []
        self._input = BytesIO(call.read_stdin())

    def read(self, size: int) -> bytes:
        return self._input.read(size)

    def write(self, number: int, data: bytes) -> None:
        self._pieces.append((number, data))

    def flush(self) -> None:
        pass

    def result(self, exit_code: int) -> CommandResult:
        names: tuple[Literal["out", "err"], ...] = ("out", "err")
        pieces = tuple(
            (
                names[number - 1],
                b"".join(lump for _, lump in lumps).decode("utf-8", "surrogateescape"),
            )
            for number, lumps in groupby(self._pieces, key=itemgetter(0))
        )
        out, err = ("".join(text for name, text in pieces if name == which) for which in names)
        return CommandResult(out, err, exit_code, pieces)
