"""What the interpreter's build has not got of Linux: users, modes, processes; more is added when a module is imported."""

import os
import sys
from _frozen_importlib_external import PathFinder

import _linux_os

sys.platform = "linux"
sys.implementation._multiarch = "x86_64-linux-gnu"
_linux_os.enter(os)

_LATE = {
    "asyncio.selector_events": "_linux_asyncio",
    "socket": "_linux_socket",
    "subprocess": "_linux_subprocess",
    "sysconfig": "_linux_sysconfig",
    "threading": "_linux_threading",
    "timeit": "_linux_timeit",
}


class _Finder:
    """Changes a module of the library when it is imported: its module of the table does it in `enter`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        changes = _LATE.get(name)
        if changes is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin.startswith("/usr/lib/python3.12/"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                __import__(changes).enter(module)

            spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Finder)

if sys.prefix == sys.base_prefix:
    for folder in ("/usr/local/lib/python3.12/site-packages", "/usr/lib/python3/dist-packages"):
        if folder not in sys.path and os.path.isdir(folder):
            import site

            site.addsitedir(folder)
