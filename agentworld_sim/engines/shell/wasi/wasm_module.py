"""Modules of WebAssembly: pinned, compiled once per user, version and CPU, and lent to one run at a time."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import struct
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import wasmtime
from filelock import FileLock
from wasmtime import _ffi as _bindings

from agentworld_sim.engines.shell.wasi.error_codes import code_of
from agentworld_sim.engines.shell.wasi.program_memory import ProgramMemory
from agentworld_sim.errors import EngineFailure
from agentworld_sim.store.home import cache_home

SETTINGS = 2
"""Of the compiler, by number: another one for each change of `_config`."""

STACK_BYTES = 2 << 20
"""What a program may recurse into: the most that wasmtime takes without a stack of its own."""

Imports = Mapping[str, Callable[..., int | None]]
"""The functions that a module calls, by name. What one returns, 0 for `None`, is the code of an error."""

_ffi: Any = _bindings
_NO_FINALIZER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
)
_LAYOUT = {"i32": "I12x", "i64": "q8x"}
"""Of one argument, as wasmtime passes it."""


class Engine:
    """One compiled module, ready for a run. A run has an engine of its own: what stops it stops nobody else."""

    def __init__(self, compiled: Path) -> None:
        self.engine = wasmtime.Engine(_config())
        self.module = wasmtime.Module.deserialize_file(self.engine, str(compiled))
        self._imports: Imports = {}
        self._ended: BaseException | None = None
        self._linker = wasmtime.Linker(self.engine)
        self._callbacks = [self._define(wanted) for wanted in self.module.imports]

    def _define(self, wanted: wasmtime.ImportType) -> object:
        """Makes a call of the module arrive at the present run; what is returned must live as long as the module.

        The package's own way takes 8 µs a call, and keeps exceptions in one place for all threads.
        """
        kind, name = wanted.type, wanted.name
        assert isinstance(kind, wasmtime.FuncType)
        assert name is not None
        layout = struct.Struct("<" + "".join(_LAYOUT[str(one)] for one in kind.params))
        size, returns = layout.size, bool(kind.results)

        def call(_data: int, _caller: int, place: int, _count: int) -> int:
            try:
                code = self._imports[name](*layout.unpack(ctypes.string_at(place, size)))
            except OSError as error:
                code = code_of(error)
            except BaseException as raised:  # noqa: BLE001 -- raised again by `run`
                self._ended = raised
                return ctypes.cast(_ffi.wasmtime_trap_new(b"ended", 5), ctypes.c_void_p).value or 0
            if returns:
                ctypes.c_uint32.from_address(place).value = code or 0
            return 0

        callback = _Callback(call)
        error = _ffi.wasmtime_linker_define_func_unchecked(
            self._linker.ptr(),
            wanted.module.encode(),
            len(wanted.module.encode()),
            name.encode(),
            len(name.encode()),
            kind.ptr(),
            ctypes.cast(callback, _ffi.wasmtime_func_unchecked_callback_t),
            None,
            _NO_FINALIZER,
        )
        assert not error
        return callback

    def run(
        self,
        imports: Imports,
        memory_bytes: int,
        patches: Mapping[int, bytes],
        program: ProgramMemory,
    ) -> str | None:
        """Runs the module's program to its end, with `patches` written into its memory before, by address.

        Returns:
            How it ended, if it did not return: the machine's own words, for example that it was interrupted.

        Raises:
            BaseException: what a call raised.
        """
        store = wasmtime.Store(self.engine)
        store.set_limits(memory_size=memory_bytes)
        store.set_epoch_deadline(1)
        self._imports, self._ended = imports, None
        try:
            exports = self._linker.instantiate(store, self.module).exports(store)
            memory, start = exports["memory"], exports["_start"]
            assert isinstance(memory, wasmtime.Memory)
            assert isinstance(start, wasmtime.Func)
            for address, data in patches.items():
                memory.write(store, data, address)
            held: Any = memory
            program.view = lambda: memoryview(held.get_buffer_ptr(store)).cast("B")
            start(store)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as trap:
            if self._ended is not None:
                raise self._ended from None
            return str(trap)
        finally:
            self._imports, self._ended = {}, None
            store.close()
        return None

    def stop(self) -> None:
        """Ends the run at its next loop or call. Thread-safe."""
        self.engine.increment_epoch()


class WasmModule:
    """A program that comes with a package: a module of WASI preview 1 that gives `memory` and `_start`."""

    def __init__(
        self,
        name: str,
        find: Callable[[], Path],
        sha256: str,
        *,
        edits: Mapping[int, bytes] = {},
        patches: Mapping[int, bytes] = {},
    ) -> None:
        """`edits` are written over the bytes of the file before it is compiled, by offset; `patches` into a program's
        memory before it starts, by address."""
        self.name = name
        self._find = find
        self._sha256 = sha256
        self._edits = edits
        self.patches = patches
        self._idle: list[Engine] = []
        self._process = 0
        self._opening = threading.Lock()
        self._compiled: Path | None = None

    @contextmanager
    def lend(self) -> Generator[Engine]:
        """An engine for one run.

        Raises:
            EngineFailure: the module's file is missing or another one, or cannot be compiled or kept.
        """
        engine = self._take()
        try:
            yield engine
        finally:
            self._idle.append(engine)

    def _take(self) -> Engine:
        with self._opening:
            if self._process != os.getpid():
                # What was made before a fork is of no use after it.
                self._process, self._idle = os.getpid(), []
            if self._idle:
                return self._idle.pop()
            try:
                self._compiled = self._compiled or self._compile()
                return Engine(self._compiled)
            except wasmtime.WasmtimeError:
                # Whole, and yet not what this wasmtime takes.
                self._compiled = self._compile(anew=True)
                return Engine(self._compiled)

    def _compile(self, *, anew: bool = False) -> Path:
        """The compiled module in the cache, made if it is not there or damaged."""
        folder = cache_home() / "machine"
        digest = hashlib.sha256(repr((self._sha256, sorted(self._edits.items()))).encode())
        path = folder / f"{digest.hexdigest()[:16]}-{version('wasmtime')}-{SETTINGS}-{_cpu()}.cwasm"
        try:
            if not anew and _is_whole(path):
                return path
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / f"{path.stem}.lock"):
                if anew or not _is_whole(path):
                    self._write(path)
        except OSError as error:
            raise EngineFailure(
                f"The compiled {self.name} cannot be kept in {folder}: {error}. Name a folder that"
                " can be written: AGENTWORLD_HOME."
            ) from error
        return path

    def _write(self, path: Path) -> None:
        source = self._find()
        try:
            data = bytearray(source.read_bytes())
        except OSError as error:
            raise EngineFailure(f"{self.name} is not whole: {error}. {_AGAIN}") from error
        if hashlib.sha256(data).hexdigest() != self._sha256:
            raise EngineFailure(f"{self.name}: {source} is not the file that was tested. {_AGAIN}")
        for offset, edit in self._edits.items():
            data[offset : offset + len(edit)] = edit
        try:
            module = wasmtime.Module(wasmtime.Engine(_config()), bytes(data))
        except wasmtime.WasmtimeError as error:
            raise EngineFailure(f"{self.name} cannot be compiled for this CPU: {error}") from error
        compiled = bytes(module.serialize())
        # The hash stands in the file's end: a part of a file, or one that was changed, is none.
        handle, name = tempfile.mkstemp(".compiling", path.stem, path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(compiled + hashlib.sha256(compiled).digest())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise


_AGAIN = "Install its package again; for one of ours: pip install --force-reinstall 'agentworld-sim[machine]'."


def _config() -> wasmtime.Config:
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK_BYTES
    config.cranelift_nan_canonicalization = True
    config.memory_may_move = False
    return config


def _is_whole(path: Path) -> bool:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    return hashlib.sha256(data[:-32]).digest() == data[-32:]


@cache
def _cpu() -> str:
    """What compiled code depends on."""
    flags = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    text = f"{platform.system()} {platform.machine()} {flags}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
