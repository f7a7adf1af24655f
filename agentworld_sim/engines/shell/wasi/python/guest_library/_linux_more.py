"""Smaller changes of modules of the library, when they are imported."""

import os
import sys
import time

from _linux_host import ask


def enter(module):
    globals()[module.__name__.replace(".", "_")](module)


def asyncio_selector_events(module):
    # Nobody could wake a loop from outside: no pair of sockets for it.
    loop = module.BaseSelectorEventLoop
    loop._make_self_pipe = loop._close_self_pipe = loop._write_to_self = lambda self: None
    loop.add_signal_handler = lambda self, sig, callback, *args: None
    loop.remove_signal_handler = lambda self, sig: False


def asyncio_unix_events(module):
    async def refuse(self, *_, **__):
        raise NotImplementedError

    module._UnixSelectorEventLoop._make_subprocess_transport = refuse


def hashlib(module):
    def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
        size = module.new(hash_name).digest_size if dklen is None else dklen
        given = {"name": hash_name, "iterations": iterations, "size": size, "salt": len(salt)}
        return ask("pbkdf2", bytes(salt) + bytes(password), **given)[1]

    module.pbkdf2_hmac = pbkdf2_hmac


def queue(module):
    # Its own part in C waits where nobody else can run.
    module.SimpleQueue = module._PySimpleQueue


def signal(module):
    due, sleep = [], time.sleep

    def setitimer(which, seconds, interval=0.0):
        left = due.pop() - time.monotonic() if due else 0.0
        if seconds:
            due.append(time.monotonic() + seconds)
        return max(left, 0.0), 0.0

    def sleep_until_due(seconds):
        end = time.monotonic() + seconds
        if due and due[0] <= end:
            sleep(max(due.pop() - time.monotonic(), 0))
            os.kill(os.getpid(), module.SIGALRM)
            seconds = max(end - time.monotonic(), 0)
        sleep(seconds)

    module.ITIMER_REAL, module.setitimer, time.sleep = 0, setitimer, sleep_until_due
    module.alarm = lambda seconds: round(setitimer(0, seconds)[0])


def sysconfig(module):
    if sys.prefix == sys.base_prefix:
        # As on Debian, packages are installed below /usr/local.
        folder = "{installed_base}/local/lib/python{py_version_short}/site-packages"
        module._INSTALL_SCHEMES["posix_prefix"].update(
            purelib=folder, platlib=folder, scripts="{base}/local/bin", data="{base}/local"
        )


def timeit(module):
    measure = module.Timer.timeit

    def do_timeit(self, number=module.default_number):
        # The clock stands still while a program only computes: a loop is taken to last 200 ns.
        time.sleep(number * 2e-7)
        return measure(self, number) + number * 2e-7

    module.Timer.timeit = do_timeit
