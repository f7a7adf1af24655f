"""What the interpreter's build has not got of Linux: users, modes, processes; more is added when a module is imported."""

import marshal
import os
import sys

import _frozen_importlib_external
from _frozen_importlib import ModuleSpec, module_from_spec
from _frozen_importlib_external import PathFinder
from _linux_host import ask

LIBRARY = "/usr/lib/python3.12/"

CHANGES = {name: f"_linux_{name}" for name in ("socket", "subprocess", "threading")}
MORE = "asyncio.selector_events asyncio.unix_events hashlib queue signal sysconfig timeit".split()
CHANGES |= dict.fromkeys(MORE, "_linux_more")
"""Modules of the library that are changed when they are imported, and by whose `enter`."""

OWN = {"_posixsubprocess", "ctypes", "fcntl", "grp", "mmap", "multiprocessing", "pwd", "venv"}
OWN |= {"concurrent.futures.process", "concurrent.futures.thread", *CHANGES.values()}
"""Modules that the build has not got."""


def load(name):
    """The compiled code of a module, from the machine."""
    return marshal.loads(ask("module", name=name)[1])


class Loader:
    get_code = staticmethod(load)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(load(module.__name__), module.__dict__)


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in OWN:
            return ModuleSpec(name, Loader, origin="built-in")
        if name not in CHANGES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin.startswith(LIBRARY):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                __import__(CHANGES[name]).enter(module)

            spec.loader.exec_module = exec_module
        return spec


find = _frozen_importlib_external.spec_from_file_location


def find_source(name, location=None, **more):
    """The library is there as compiled code alone, and named like its sources, as everywhere."""
    spec = find(name, location, **more)
    if spec and str(location).startswith(LIBRARY) and location.endswith(".pyc"):
        spec.origin = location[:-1]
    return spec


_frozen_importlib_external.spec_from_file_location = find_source
sys.meta_path.insert(0, Finder)
sys.platform = "linux"
sys.implementation._multiarch = "x86_64-linux-gnu"
__import__("_linux_os").enter(os)

script = os.environ.pop("__SCRIPT", None)
if script is not None:
    sys.orig_argv[-len(sys.argv)] = sys.argv[0] = script

if sys.prefix == sys.base_prefix and not sys.flags.isolated:
    for folder in ("/usr/local/lib/python3.12/site-packages", "/usr/lib/python3/dist-packages"):
        if os.path.isdir(folder):
            import site

            site.addsitedir(folder)

if (given := os.environ.get("PYTHONPATH")) and not sys.flags.ignore_environment:
    # The user's own, which this one stands before: pip makes one for the builds of packages.
    own = PathFinder.find_spec("sitecustomize", given.split(":"))
    if own is not None:
        sys.modules["sitecustomize"] = module_from_spec(own)
        own.loader.exec_module(sys.modules["sitecustomize"])
