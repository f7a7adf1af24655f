"""Starts and stops the real `langgraph dev`."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LANGGRAPH: Final = ROOT / "build" / "langgraph-dev" / "bin" / "langgraph"
STARTED: Final = "Application startup complete"
START_LIMIT: Final = 120.0


@dataclass(frozen=True)
class DevServer:
    """A running server."""

    url: str
    log: list[str]
    """What it printed so far, by lines."""


@contextmanager
def serve(config: Path, folder: Path, **variables: str) -> Generator[DevServer]:
    """Serves the graphs of a `langgraph.json` on the loopback interface until the block ends.

    Args:
        config: The file.
        folder: Where it runs, and keeps its threads: a second one there goes on with them.
        variables: More environment variables.
    """
    if not LANGGRAPH.exists():
        raise RuntimeError(
            f"{LANGGRAPH.relative_to(ROOT)} is missing: run `make test-langgraph-dev`"
        )
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [
            *(str(LANGGRAPH), "dev", "--config", str(config), "--port", str(port)),
            *("--no-browser", "--no-reload", "--server-log-level", "INFO"),
        ],
        cwd=folder,
        env=_environment(folder) | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log: list[str] = []
    begun = threading.Event()

    def read() -> None:
        for line in process.stdout or ():
            log.append(line)
            if STARTED in line:
                begun.set()
        # It ended: whoever waits for its start need not.
        begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        if not begun.wait(START_LIMIT) or process.poll() is not None:
            raise RuntimeError("langgraph dev did not start:\n" + "".join(log[-60:]))
        yield DevServer(f"http://127.0.0.1:{port}", log)
    finally:
        # As Ctrl-C does, so that it writes its threads down.
        process.terminate()
        try:
            process.wait(30)
        finally:
            process.kill()
            reader.join()
            if process.stdout:
                process.stdout.close()


def _environment(folder: Path) -> dict[str, str]:
    """No key, no tracing, no model; and a proxy that is not there for whatever looks outside."""
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AGENTWORLD_STORE": str(folder / "worlds.sqlite"),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONUNBUFFERED": "1",
    }
