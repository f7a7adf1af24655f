"""Threads: one runs whole at its `start`; one that has to wait runs again from its beginning when another waits."""

import itertools
import sys
import time
import _thread
from _threading_local import local


class _Waits(BaseException):
    """A thread waits for what only others can give."""


def enter(threading):
    main = threading.main_thread()
    numbers = itertools.count(main.ident + 1)
    running, waiting = [main], []
    sleep = time.sleep

    def proceed(thread):
        kept = dict(thread.__dict__)
        running.append(thread)
        try:
            thread.run()
        except _Waits:
            thread.__dict__.update(kept)
            waiting.append(thread)
            return False
        except SystemExit:
            pass
        except BaseException:
            threading.excepthook(threading.ExceptHookArgs([*sys.exc_info(), thread]))
        finally:
            running.pop()
        thread._is_stopped = True
        threading._active.pop(thread.ident, None)
        return True

    def advance():
        """Lets those that wait run again; whether one came to its end."""
        tried, waiting[:] = waiting[:], []
        return sum(map(proceed, tried)) > 0

    def stand_still():
        if len(running) > 1:
            raise _Waits
        if waiting:
            raise RuntimeError("can't start new thread")
        while True:
            sleep(3600)

    class Lock:
        _owned = False

        def acquire(self, blocking=True, timeout=-1):
            while self._owned:
                if not blocking:
                    return False
                if len(running) == 1 and (advance() or not self._owned):
                    continue
                if timeout >= 0:
                    sleep(timeout)
                    return False
                stand_still()
            self._owned = True
            return True

        def release(self, *_):
            if not self._owned:
                raise RuntimeError("release unlocked lock")
            self._owned = False

        def locked(self):
            return self._owned

        __enter__, __exit__ = acquire, release

        def _at_fork_reinit(self):
            self._owned = False

    def start(self):
        if self._started.is_set():
            raise RuntimeError("threads can only be started once")
        self._ident = self._native_id = next(numbers)
        self._started.set()
        threading._active[self._ident] = self
        if isinstance(self, threading.Timer):
            waiting.append(self)
        else:
            proceed(self)

    def join(self, timeout=None):
        if not self._started.is_set():
            raise RuntimeError("cannot join thread before it is started")
        if self is running[-1]:
            raise RuntimeError("cannot join current thread")
        while not self._is_stopped and advance():
            pass
        if not self._is_stopped:
            if timeout is None:
                stand_still()
            sleep(max(timeout, 0))

    def sleep_on(seconds):
        sleep(seconds)
        if waiting and len(running) == 1:
            advance()

    def finish():
        while any(not thread.daemon for thread in waiting) and advance():
            pass
        for call in reversed(threading._threading_atexits):
            call()

    def start_new_thread(function, args, kwargs={}):
        thread = threading.Thread(target=function, args=args, kwargs=kwargs)
        thread.start()
        return thread.ident

    threading.Thread.start, threading.Thread.join = start, join
    threading.Thread.is_alive = lambda self: self._started.is_set() and not self._is_stopped
    threading.Lock = threading._allocate_lock = Lock
    threading.local = local
    threading.current_thread = lambda: running[-1]
    _thread.get_ident = threading.get_ident = threading.get_native_id = lambda: running[-1].ident
    threading._shutdown = finish
    _thread.allocate_lock, _thread.start_new_thread = Lock, start_new_thread
    time.sleep = sleep_on
    # Made before `Lock` was changed.
    threading._active_limbo_lock = threading.RLock()
    main._started = threading.Event()
    main._started.set()
