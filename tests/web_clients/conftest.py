"""`agentworld web` and the clients of others, which only `make test-web` runs: they have an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parents[1] / "build" / "web-clients"
SCENARIO = """\
name: doors
domains: [web, search]
sites: [forum]
fiction: {family: products, seed: 7, rows: 80}
"""


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def led(tmp_path_factory: pytest.TempPathFactory) -> Generator[Mapping[str, str]]:
    """The variables that lead a client through the proxy, as `agentworld web` prints them; AGENTWORLD_HOME is that of
    the kept world `doors`."""
    folder = tmp_path_factory.mktemp("web")
    (folder / "doors.yaml").write_text(SCENARIO)
    command = (sys.executable, "-m", "agentworld_sim.cli", "web", "doors.yaml", "--world", "doors")
    environment = {**os.environ, "AGENTWORLD_HOME": str(folder / "home")}
    with subprocess.Popen(
        (*command, "--https", "--port", "0"),
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stderr is not None
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line)
            if "export " in line:
                break
        _, found, exports = "".join(lines).partition("export ")
        assert found, "".join(lines)
        words = (word.partition("=") for word in exports.replace("''", "").split())
        variables = {name: value for name, _, value in words}
        yield {**environment, **variables}
        process.terminate()
    assert not Path(variables["SSL_CERT_FILE"]).parent.exists()


@pytest.fixture
def run(led: Mapping[str, str]) -> Run:
    return Run(led)


class Run:
    """Runs clients."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def program(self, *command: str) -> str:
        """What a program wrote."""
        return subprocess.run(
            command, env=self.variables, capture_output=True, text=True, check=True, timeout=120
        ).stdout

    def python(self, code: str) -> str:
        """What a program in Python wrote, in the clients' environment. Its search path has no node: readabilipy
        would install packages with it."""
        path = CLIENTS / "venv" / "bin"
        variables = {**self.variables, "PATH": str(path), "PYTHONPATH": ""}
        variables |= {f"{name}_API_KEY": "tvly-any" for name in ("TAVILY", "SERPER", "EXA")}
        done = subprocess.run(
            (path / "python", "-W", "ignore", "-c", code),
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def mcp(self, server: tuple[str, ...], *calls: tuple[str, Mapping[str, object]]) -> list[str]:
        """What tools of a server answered."""
        code = f"""
import asyncio, json, os
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def ask():
    path = {self.variables["PATH"] if server[0] == "node" else ""!r} or os.environ["PATH"]
    server = StdioServerParameters(command={server[0]!r}, args={list(server[1:])!r}, env={{**os.environ, "PATH": path}})
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        answers = [await session.call_tool(name, arguments) for name, arguments in {list(calls)!r}]
    print(json.dumps([answer.content[0].text for answer in answers]))

asyncio.run(ask())
"""
        return json.loads(self.python(code))
