"""Modules of WebAssembly: pinned, compiled once per user, version and CPU, and lent to one run at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import wasmtime

from agentworld_sim.errors import EngineFailure
from agentworld_sim.store.home import cache_home

STACK_BYTES = 2 << 20
"""What a program may recurse into: the most that wasmtime takes without a stack of its own."""

Imports = Mapping[str, Callable[..., int | None]]
"""The functions that a module calls, by name."""


class Engine:
    """One compiled module, ready for a run. A run has an engine of its own: what stops it stops nobody else."""

    def __init__(self, compiled: Path) -> None:
        self.engine = wasmtime.Engine(_config())
        self.module = wasmtime.Module.deserialize_file(self.engine, str(compiled))
        self.imports: Imports = {}
        """Those of the present run."""
        self._linker = wasmtime.Linker(self.engine)
        for wanted in self.module.imports:
            kind = wanted.type
            if isinstance(kind, wasmtime.FuncType) and wanted.name is not None:
                self._linker.define_func(wanted.module, wanted.name, kind, self._late(wanted.name))

    def _late(self, name: str) -> Callable[..., int | None]:
        return lambda *arguments: self.imports[name](*arguments)

    def instantiate(self, store: wasmtime.Store, imports: Imports) -> wasmtime.Instance:
        self.imports = imports
        return self._linker.instantiate(store, self.module)

    def stop(self) -> None:
        """Ends the run at its next loop or call. Thread-safe."""
        self.engine.increment_epoch()


class WasmModule:
    """A module that comes with a package of the index."""

    def __init__(
        self, name: str, find: Callable[[], Path], sha256: str, patches: Mapping[int, bytes] = {}
    ) -> None:
        """
        Args:
            name: What messages call it.
            find: Where its file is.
            sha256: Of the file, as hexadecimal digits.
            patches: What is written into a program's memory before it starts, by address.
        """
        self.name = name
        self._find = find
        self._sha256 = sha256
        self.patches = patches
        self._idle: list[Engine] = []
        self._process = 0
        self._opening = threading.Lock()
        self._compiled: Path | None = None

    @contextmanager
    def lend(self) -> Iterator[Engine]:
        """An engine for one run.

        Raises:
            EngineFailure: the module's file is missing or another one, or cannot be compiled or kept.
        """
        engine = self._take()
        try:
            yield engine
        finally:
            engine.imports = {}
            self._idle.append(engine)

    def _take(self) -> Engine:
        with self._opening:
            if self._process != os.getpid():
                # What was made before a fork is of no use after it.
                self._process, self._idle = os.getpid(), []
            if self._idle:
                return self._idle.pop()
            if self._compiled is None:
                self._compiled = self._compile()
            return Engine(self._compiled)

    def _compile(self) -> Path:
        """The compiled module in the cache, made if it is not there or damaged."""
        folder = cache_home() / "machine"
        path = folder / f"{self._sha256[:16]}-{version('wasmtime')}-{_cpu()}.cwasm"
        try:
            if _is_whole(path):
                return path
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"{path.stem}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _is_whole(path):
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
            data = source.read_bytes()
        except OSError as error:
            raise EngineFailure(f"{self.name} is not whole: {error}. {_AGAIN}") from error
        if hashlib.sha256(data).hexdigest() != self._sha256:
            raise EngineFailure(f"{self.name}: {source} is not the file that was tested. {_AGAIN}")
        try:
            module = wasmtime.Module(wasmtime.Engine(_config()), data)
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


_AGAIN = "Install it again: pip install --force-reinstall 'agentworld-sim[machine]'."


def _config() -> wasmtime.Config:
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK_BYTES
    config.cranelift_nan_canonicalization = True
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
