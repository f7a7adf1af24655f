"""The official conformance suite and the Inspector, which only `make test-conformance` runs.

Whoever asks for the whole suite does not get them: they need node and packages from npm.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "conformance"
NODE = BUILD / "node_modules" / "node" / "bin"
EVERYTHING = BUILD / "everything-server"

METHODS = (
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


def environment() -> dict[str, str]:
    """Of all that is started here: with node, the everything-server, and nothing of the user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTWORLD_")}
    return {
        **kept,
        "PATH": f"{NODE}:{Path(sys.executable).parent}:{kept['PATH']}",
        "PYTHONPATH": str(EVERYTHING),
        "PYTHONUNBUFFERED": "1",
    }


def node(*command: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """Runs a command of a package from npm."""
    return subprocess.run(
        [str(BUILD / "node_modules" / ".bin" / command[0]), *command[1:]],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=BUILD,
    )


@contextmanager
def listening(command: Sequence[str]) -> Generator[str]:
    """A server over HTTP, once it says where it listens."""
    log = subprocess.Popen(
        command,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    reading: threading.Thread | None = None
    try:
        assert log.stdout is not None
        said: list[str] = []
        for line in log.stdout:
            said.append(line)
            found = re.search(r"(?:serving|running on) (http://127\.0\.0\.1:\d+)", line)
            if found:
                break
        else:
            pytest.fail("the server ended: " + "".join(said)[-2000:])
        # It must never wait for a reader.
        reading = threading.Thread(target=log.stdout.read)
        reading.start()
        yield f"{found[1]}/mcp"
    finally:
        os.killpg(log.pid, signal.SIGKILL)
        log.wait()
        if reading is not None:
            reading.join()
        if log.stdout is not None:
            log.stdout.close()


@pytest.fixture(scope="session")
def direct() -> Generator[str]:
    """The URL of the official Python SDK's own everything-server."""
    # Its own command takes a port and says its address through uvicorn; port 0 is a free one.
    with listening([sys.executable, "-m", "mcp_everything_server", "--port", "0"]) as url:
        yield url


@pytest.fixture(scope="session")
def tool_names(direct: str) -> list[str]:
    """What the everything-server calls its tools."""
    listed = json.loads(inspect(direct, "--transport", "http", "--method", "tools/list").stdout)
    return [tool["name"] for tool in listed["tools"]]


@pytest.fixture(scope="session")
def real_rules(tool_names: list[str]) -> list[str]:
    """Everything that can be real, each by its name."""
    return [part for name in (*tool_names, *METHODS) for part in ("--access", f"{name}=real")]


@pytest.fixture(scope="session")
def through(direct: str, real_rules: list[str]) -> Generator[str]:
    """The URL of the shim in front of it."""
    command = [sys.executable, "-m", "agentworld_mcp_shim", "--memory", "--http", "0"]
    with listening([*command, *real_rules, direct]) as url:
        yield url


def inspect(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the Inspector without its window."""
    return node("mcp-inspector", "--cli", *arguments)


def checks(folder: Path) -> Mapping[tuple[str, str], list[str]]:
    """What a run of the suite has found: the statuses by scenario and check."""
    found: dict[tuple[str, str], list[str]] = {}
    for file in sorted(folder.rglob("checks.json")):
        scenario = re.sub(r"-20\d\d-.*$", "", file.parent.name)
        for check in json.loads(file.read_text(encoding="utf-8")):
            found.setdefault((scenario, check["id"]), []).append(check["status"])
    return found
