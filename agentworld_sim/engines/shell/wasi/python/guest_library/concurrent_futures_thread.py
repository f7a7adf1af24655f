"""A pool of threads: what is handed in runs at once."""

import threading

from concurrent.futures import _base


class BrokenThreadPool(_base.BrokenExecutor):
    """Raised when a worker thread in a ThreadPoolExecutor failed initializing."""


class ThreadPoolExecutor(_base.Executor):
    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._max_workers = max_workers or 4
        self._name = thread_name_prefix or "ThreadPoolExecutor-0"
        self._start = [(initializer, initargs)] if initializer else []
        self._shutdown, self._count = False, 0

    def submit(self, fn, /, *args, **kwargs):
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = _base.Future()

        def work():
            while self._start:
                start, given = self._start.pop()
                start(*given)
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        name = f"{self._name}_{self._count % self._max_workers}"
        self._count += 1
        future.set_running_or_notify_cancel()
        threading.Thread(target=work, name=name, daemon=True).start()
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._shutdown = True
