"""A pool of processes, which run as those of `multiprocessing` do here."""

from concurrent.futures.thread import BrokenThreadPool, ThreadPoolExecutor
from multiprocessing import call_sent

BrokenProcessPool = BrokenThreadPool


class ProcessPoolExecutor(ThreadPoolExecutor):
    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), **_):
        super().__init__(max_workers, "", initializer, initargs)

    def submit(self, fn, /, *args, **kwargs):
        return super().submit(call_sent, fn, args, kwargs)
