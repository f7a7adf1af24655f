"""Threads deep enough for the embedded shell.

bashkit evaluates `eval`, scripts that call each other and nested expressions by recursion on the
thread that called it, about 50 KB a level, and a stack overflow there ends the whole process. Here
its calls run on threads whose stack is large (reserved, not used), and the calling thread watches how
deep the stack has grown, so that a runaway recursion can be stopped long before its end.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

STACK_SIZES = (1 << 30, 1 << 28, 1 << 26)
"""Bytes of address space per thread; the smaller ones are for hosts that refuse the first."""

DEEP_PART = 16
"""A stack is deep when this part of it (one sixteenth) has been used."""

PULSE_S = 0.02
"""How often the caller looks. A recursion grows by about 1 MB in a millisecond."""

_PAGE = 4096
_LOOKED_AT = 64
"""Pages: one large frame may step over a single one."""

_starting = threading.Lock()
_idle: list[_Worker] = []


class _Worker(threading.Thread):
    def __init__(self, size: int) -> None:
        super().__init__(name="agentworld-shell-deep", daemon=True)
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._size = size
        self._mark = 0

    def run(self) -> None:
        self._mark = _stack_top() - self._size // DEEP_PART
        while (job := self.jobs.get()) is not None:
            job()
            del job

    def is_deep(self) -> bool:
        """Whether the stack has ever grown past its mark."""
        return self._mark > 0 and _resident(self._mark)


def call_deep(action: Callable[[], T], *, watch: Callable[[bool], None] | None = None) -> T:
    """Runs `action` on a deep thread and waits for it.

    `watch` is called every `PULSE_S` while waiting, with whether the stack is deep. What it raises is
    raised here, and the thread is left to itself.
    """
    worker = _take()
    done = threading.Lock()
    done.acquire()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def job() -> None:
        try:
            outcome.append(action())
        except BaseException as raised:  # noqa: BLE001 -- raised again in the calling thread
            failure.append(raised)
        finally:
            done.release()

    worker.jobs.put(job)
    long = False
    while not done.acquire(timeout=PULSE_S):
        long = True
        if watch is not None:
            watch(worker.is_deep())
    if long and worker.is_deep():
        # Its pages stay in memory until the thread ends.
        worker.jobs.put(None)
    else:
        _idle.append(worker)
    if failure:
        raise failure[0]
    return outcome[0]


def start_deep(job: Callable[[], None]) -> None:
    """Runs `job`, which must not raise, on a deep thread; nobody waits for it."""
    worker = _take()

    def run() -> None:
        job()
        _idle.append(worker)

    worker.jobs.put(run)


def _take() -> _Worker:
    with suppress(IndexError):
        return _idle.pop()
    with _starting:
        before = threading.stack_size()
        for size in STACK_SIZES:
            try:
                threading.stack_size(size)
                worker = _Worker(size)
                worker.start()
            except (RuntimeError, ValueError, MemoryError):
                if size == STACK_SIZES[-1]:
                    raise
            else:
                return worker
            finally:
                threading.stack_size(before)
    raise AssertionError("unreachable")


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _stack_top() -> int:
    """The address where the calling thread's stack begins; 0 where that cannot be known."""
    if sys.platform != "linux":
        return 0
    libc = _libc()
    attributes = ctypes.create_string_buffer(128)
    low, size = ctypes.c_void_p(), ctypes.c_size_t()
    libc.pthread_self.restype = ctypes.c_void_p
    if libc.pthread_getattr_np(ctypes.c_void_p(libc.pthread_self()), attributes):
        return 0
    libc.pthread_attr_getstack(attributes, ctypes.byref(low), ctypes.byref(size))
    libc.pthread_attr_destroy(attributes)
    return (low.value or 0) + size.value


def _resident(address: int) -> bool:
    pages = (ctypes.c_ubyte * _LOOKED_AT)()
    start = address // _PAGE * _PAGE - _LOOKED_AT * _PAGE
    failed = _libc().mincore(ctypes.c_void_p(start), ctypes.c_size_t(_LOOKED_AT * _PAGE), pages)
    return not failed and any(page & 1 for page in pages)
