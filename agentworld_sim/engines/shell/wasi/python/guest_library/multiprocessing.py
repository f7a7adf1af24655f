"""Processes for Python functions: they run as threads do here, in the program's own memory."""

import itertools
import os
import queue
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

__path__ = []
for _part in ("context", "managers", "pool", "queues"):
    sys.modules[f"{__name__}.{_part}"] = sys.modules[__name__]
for _name in "Barrier BoundedSemaphore Condition Event Lock RLock Semaphore".split():
    globals()[_name] = getattr(threading, _name)
_numbers = itertools.count(1)


class ProcessError(Exception):
    """What goes wrong with a process."""


class TimeoutError(ProcessError):
    """A result is not there in time."""


class Process(threading.Thread):
    exitcode = None

    def __init__(self, group=None, target=None, name=None, args=(), kwargs={}, *, daemon=None):
        name = name or f"Process-{next(_numbers)}"
        super().__init__(target=target, name=name, args=args, kwargs=kwargs, daemon=daemon)

    pid = property(
        lambda self: self.ident and os.getpid() + self.ident - threading.main_thread().ident
    )

    def start(self):
        self._work, self.run = self.run, self._whole
        super().start()

    def _whole(self):
        self.exitcode = None
        try:
            self._work()
            self.exitcode = 0
        except SystemExit as end:
            self.exitcode = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:
            sys.stderr.write(f"Process {self.name}:\n{traceback.format_exc()}")
            self.exitcode = 1

    def terminate(self):
        """It has run to its end, or waits for ever."""

    kill = close = terminate


class _Later:
    """What `apply_async` and its like give."""

    def __init__(self, future, callback, error_callback):
        self._future, failed = future, future.exception()
        if tell := error_callback if failed else callback:
            tell(failed or future.result())

    def get(self, timeout=None):
        return self._future.result()

    def wait(self, timeout=None):
        pass

    def ready(self):
        return True

    def successful(self):
        return self._future.exception() is None


class Pool:
    def __init__(
        self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None
    ):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        self._pool = ThreadPoolExecutor(processes or os.cpu_count(), "", initializer, initargs)

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        try:
            future = self._pool.submit(func, *args, **kwds)
        except RuntimeError:
            raise ValueError("Pool not running") from None
        return _Later(future, callback, error_callback)

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        def work():
            return [one.get() for one in [self.apply_async(func, args) for args in iterable]]

        return self.apply_async(work, (), {}, callback, error_callback)

    def map_async(self, func, iterable, *more):
        return self.starmap_async(func, zip(iterable), *more)

    def apply(self, func, args=(), kwds={}):
        return self.apply_async(func, args, kwds).get()

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable).get()

    def starmap(self, func, iterable, chunksize=None):
        return self.starmap_async(func, iterable).get()

    def imap(self, func, iterable, chunksize=1):
        return iter(self.map(func, iterable))

    imap_unordered = imap

    def close(self):
        self._pool.shutdown()

    def join(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    terminate = close


ThreadPool = Pool


class SimpleQueue(queue.Queue):
    def close(self):
        pass

    join_thread = cancel_join_thread = close


class Queue(SimpleQueue):
    """Between the program and its processes."""


JoinableQueue = Queue


class _End:
    def __init__(self, out, into):
        self.send, self.recv, self.poll = into.put, out.get, lambda timeout=0: not out.empty()

    def close(self):
        pass


def Pipe(duplex=True):
    one, other = queue.Queue(), queue.Queue()
    return _End(one, other), _End(other, one)


class Value:
    def __init__(self, kind, value=0, *, lock=True):
        self.value, self._lock = value, threading.RLock()
        self.get_lock = lambda: self._lock


def Array(kind, given, *, lock=True):
    return [0] * given if isinstance(given, int) else list(given)


class Manager:
    dict, list, Namespace, Queue = dict, list, SimpleNamespace, Queue
    Lock, RLock, Event = threading.Lock, threading.RLock, threading.Event
    Value, Array = Value, Array

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    shutdown = __exit__


cpu_count = os.cpu_count


def get_context(method=None):
    return sys.modules[__name__]


def get_start_method(allow_none=False):
    return "fork"


def set_start_method(method, force=False):
    """They run in one way."""


def get_all_start_methods():
    return ["fork", "spawn", "forkserver"]


def active_children():
    return []


def parent_process():
    return None


freeze_support = active_children


def current_process():
    thread = threading.current_thread()
    if isinstance(thread, Process):
        return thread
    return SimpleNamespace(name="MainProcess", pid=os.getpid(), daemon=False, exitcode=None)
