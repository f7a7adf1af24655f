"""Programs of the machine as commands of its shell: one run of a module, from a shell command and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import groupby
from operator import itemgetter

from agentworld_sim.engines.shell._command import CommandCall, CommandResult, Endless, Piece
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.engines.shell.wasi.machine_requests import Request, Requests
from agentworld_sim.engines.shell.wasi.wasi_kernel import ProgramEnded, WasiKernel
from agentworld_sim.engines.shell.wasi.wasm_module import Engine, WasmModule
from agentworld_sim.errors import EngineFailure

MEMORY_BYTES = 512 << 20
"""Of one run. A program that asks for more is told that there is none."""

_CRASH = (b"Segmentation fault\n", 139)
_KILLED = (b"Killed\n", 137)
_TRAPS = {
    "call stack exhausted": _CRASH,
    "out of bounds": _CRASH,
    "indirect call": _CRASH,
    "unreachable": (b"Aborted\n", 134),
}
"""What a machine says of a program that goes wrong in this way, and its exit code."""

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

    Standard input, directory, clock and chance are those of the call, and so is the environment without another one.
    `argv` begins with the program's own name. `requests` are what this program may ask the machine beside what all
    may; `memory` is written into its memory before it starts, beside the module's patches, by address.

    Raises:
        Endless: it was cancelled, or the turn's time is over and somebody waits who has a time limit of his own. Without
            one the program is killed, and the script goes on.
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
        call_deep(lambda: _run(patches, engine, kernel, call), watch=watch)
    code = kernel.exit_code
    if isinstance(streams, _HeldStreams):
        return streams.result(code)
    return CommandResult(exit_code=code)


def _run(
    patches: Mapping[int, bytes], engine: Engine, kernel: WasiKernel, call: CommandCall
) -> None:
    imports = kernel.imports()
    try:
        stopped = engine.run(imports, MEMORY_BYTES, patches, kernel.memory)
        if stopped is not None:
            signal = next((one for words, one in _TRAPS.items() if words in stopped), None)
            if "interrupt" in stopped:
                if call.clock.deadline_us is not None or call.seconds_left() <= 0:
                    raise Endless
                signal = _KILLED
            if signal is None:
                raise EngineFailure(f"{kernel.argv[0]} stopped where no program does: {stopped}")
            said, kernel.exit_code = signal
            kernel.streams.write(2, said)
    except ProgramEnded:
        pass
    finally:
        try:
            kernel.give_back()
        except BrokenPipeError:
            # Nobody reads its last output any more.
            pass
        except OSError as error:
            kernel.exit_code = 1
            said = f"{kernel.argv[0]}: write error: {error.strerror}\n"
            kernel.streams.write(2, said.encode())


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
        pieces: list[Piece] = []
        for number, lumps in groupby(self._pieces, key=itemgetter(0)):
            data = b"".join(lump for _, lump in lumps)
            pieces.append(
                ("out" if number == 1 else "err", data.decode("utf-8", "surrogateescape"))
            )
        out, err = (
            "".join(text for name, text in pieces if name == which) for which in ("out", "err")
        )
        return CommandResult(out, err, exit_code, tuple(pieces))
