"""Processes for Python functions: they run as threads do here. What is handed to them and back is copied as for a process;
a global variable that one of them sets is set for all.
"""

import copy
import itertools
import os
import pickle
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


def _sent(value):
    """What arrives of it in another process."""
    return pickle.loads(pickle.dumps(value))


def _forked(values):
    """What a child has of it, whose changes nobody else sees."""
    try:
        return copy.deepcopy(values)
    except Exception:
        return values


def _shared(kind):
    """A kind of object that processes have in common."""
    copy._deepcopy_dispatch[kind] = lambda one, memo: one
    return kind


for _kind in (
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Barrier,
    threading.Condition,
):
    _shared(_kind)
for _kind in (threading.BoundedSemaphore, threading.Event, threading.Semaphore):
    _shared(_kind)


class ProcessError(Exception):
    """What goes wrong with a process."""


class TimeoutError(ProcessError):
    """A result is not there in time."""


class Process(threading.Thread):
    exitcode = None

    def __init__(self, group=None, target=None, name=None, args=(), kwargs={}, *, daemon=None):
        name = name or f"Process-{next(_numbers)}"
        args, kwargs = _forked((args, kwargs))
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


class ThreadPool:
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

        return ThreadPool.apply_async(self, work, (), {}, callback, error_callback)

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


def call_sent(func, args, kwds):
    """Calls a function as if it were in another process."""
    func, args, kwds = _sent((func, args, kwds))
    return _sent(func(*args, **kwds))


class Pool(ThreadPool):
    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return super().apply_async(call_sent, (func, args, kwds), {}, callback, error_callback)


@_shared
class Queue(queue.Queue):
    """Between the program and its processes."""

    def put(self, item, *more, **named):
        super().put(_sent(item), *more, **named)

    def close(self):
        pass

    join_thread = cancel_join_thread = close


SimpleQueue = JoinableQueue = Queue


@_shared
class _End:
    def __init__(self, out, into):
        self.send, self.recv, self.poll = into.put, out.get, lambda timeout=0: not out.empty()

    def close(self):
        pass


def Pipe(duplex=True):
    one, other = Queue(), Queue()
    return _End(one, other), _End(other, one)


@_shared
class Value:
    def __init__(self, kind, value=0, *, lock=True):
        self.value, self._lock = value, threading.RLock()
        self.get_lock = lambda: self._lock


@_shared
class _List(list):
    """In common, as are the next two."""


@_shared
class _Dict(dict):
    pass


@_shared
class _Names(SimpleNamespace):
    pass


def Array(kind, given, *, lock=True):
    return _List([0] * given if isinstance(given, int) else given)


class Manager:
    dict, list, Namespace, Queue = _Dict, _List, _Names, Queue
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
