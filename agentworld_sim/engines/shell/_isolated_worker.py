"""The other end of `isolated_process`: a process that runs one embedded command after the other.

It reads a request from standard input and writes the response to standard output, each a line of JSON.
It touches no file of the host, and it may be killed at any moment.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from bashkit import FileSystem

MEMORY = 3 << 30
"""Address space, the stack included."""

STACK = 1 << 30

_UNBOUNDED = 2**62
_FOREVER_S = 1e7


def main() -> None:
    """Answers until its input ends; the first argument is where modules are found, as JSON."""
    sys.path[:] = json.loads(sys.argv[1])
    _lock_in()
    parent = os.getppid()
    threading.stack_size(STACK)
    threading.Thread(target=_answer_all, daemon=True).start()
    # It ends with the process that started it, whatever it is doing.
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _answer_all() -> None:
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(json.dumps(_answer(json.loads(line))).encode() + b"\n")
        sys.stdout.buffer.flush()
    os._exit(0)


def _lock_in() -> None:
    for what, much in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        _, most = resource.getrlimit(what)
        within = much if most == resource.RLIM_INFINITY else min(much, most)
        resource.setrlimit(what, (within, within))


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    from bashkit import Bash, ExecutionProfile, FileSystem

    fs = FileSystem()
    given = cast("dict[str, str]", request["files"])
    for path, text in given.items():
        fs.mkdir(path.rpartition("/")[0] or "/", True)
        fs.write_file(path, text.encode("latin-1"))
    fs.mkdir(request["cwd"], True)
    bash = Bash(
        env=request["env"],
        max_commands=_UNBOUNDED,
        max_loop_iterations=_UNBOUNDED,
        timeout_seconds=_FOREVER_S,
        profile=ExecutionProfile.Interactive,
    )
    bash.mount("/", fs)
    script = f"cd {shlex.quote(request['cwd'])} && {shlex.join(request['argv'])}"
    if request["stdin"] is not None:
        channel = FileSystem()
        channel.write_file("/0", request["stdin"].encode("utf-8", "surrogateescape"))
        bash.mount("/proc/self/fd", channel, read_only=True)
        script += " < /proc/self/fd/0"
    result = bash.execute_sync(script)
    return {
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "error": result.error,
        "files": {path: text for path, text in _files(fs, "/") if given.get(path) != text},
    }


def _files(fs: FileSystem, folder: str) -> Iterator[tuple[str, str]]:
    for entry in fs.read_dir(folder):
        path = f"{folder.rstrip('/')}/{entry['name']}"
        kind = entry["metadata"]["file_type"]
        if kind == "directory" and path not in ("/dev", "/proc"):
            yield from _files(fs, path)
        elif kind == "file":
            yield path, fs.read_file(path).decode("latin-1")


if __name__ == "__main__":
    main()
