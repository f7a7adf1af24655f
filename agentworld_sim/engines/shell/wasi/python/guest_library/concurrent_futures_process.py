"""A pool of processes, which run as those of `multiprocessing` do here."""

from concurrent.futures.thread import BrokenThreadPool, ThreadPoolExecutor

BrokenProcessPool = BrokenThreadPool


class ProcessPoolExecutor(ThreadPoolExecutor):
    def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), **_):
        super().__init__(max_workers, "", initializer, initargs)
