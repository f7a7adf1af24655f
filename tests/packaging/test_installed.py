"""The installed package, used from somewhere else."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

HEAVY = ("torch", "langgraph", "langchain_core", "mcp", "openai", "rich", "pydantic", "bashkit")


def python(code: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def agentworld(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("agentworld")), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_a_world_answers_outside_the_repository(tmp_path: Path) -> None:
    code = (
        "import asyncio\n"
        "from agentworld_sim import Scenario, ToolCall, World\n"
        "async def go():\n"
        "    async with await World.create(Scenario.load('failing-test')) as world:\n"
        "        turn = await world.step(ToolCall('bash', {'command': 'make test 2>&1; echo $?'}))\n"
        "        print(turn.observation.text)\n"
        "asyncio.run(go())\n"
    )
    assert python(code, tmp_path).rstrip().endswith("2")


def test_the_command_runs_a_shell_and_touches_nothing(tmp_path: Path) -> None:
    done = agentworld("shell", "-c", "echo hello > note; cat note; exit 3", cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("hello\n", "", 3)
    assert list(tmp_path.iterdir()) == []


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    code = f"import sys, agentworld_sim; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert python(code, tmp_path).strip() == "[]"


NOT_FOR_ECHO = (
    *(one for one in HEAVY if one not in ("pydantic", "bashkit")),
    "jsonschema",
    "yaml",
    "agentworld_sim.engines.web.web_engine",
    "agentworld_sim.engines.model",
    "agentworld_sim.engines.shell.commands.ls",
    "agentworld_sim.engines.shell.commands.tar",
    "agentworld_sim.engines.table.table_engine",
    "agentworld_sim.diff",
    "agentworld_sim.imagination",
    "agentworld_sim.ingest",
    "agentworld_sim.llm",
    "agentworld_sim.runtime.merge",
    "agentworld_sim.scenario._document",
    "agentworld_sim.store.sqlite_store",
)


def test_a_command_of_the_shell_loads_only_what_it_needs(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from agentworld_sim.cli import main\n"
        "try:\n"
        "    main(['shell', '-c', 'echo hi'])\n"
        "except SystemExit as done:\n"
        f"    print(done.code, [m for m in {NOT_FOR_ECHO!r} if m in sys.modules])\n"
    )
    assert python(code, tmp_path).splitlines() == ["hi", "0 []"]


def test_a_world_of_tables_loads_no_shell(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from agentworld_sim import Scenario, ToolCall, ToolSpec, World\n"
        "async def go():\n"
        "    scenario = Scenario.parse('{name: notes, domains: [mcp], tables: {notes: {}}}')\n"
        "    async with await World.create(scenario) as world:\n"
        "        world.add_tools([ToolSpec(name='list_notes', domain='mcp')])\n"
        "        await world.step(ToolCall('list_notes', {}))\n"
        "asyncio.run(go())\n"
        "shell = 'agentworld_sim.engines.shell.'\n"
        "print([m for m in ('shell_engine', 'live_shell', 'commands') if shell + m in sys.modules])\n"
    )
    assert python(code, tmp_path).strip() == "[]"


def test_a_model_that_is_not_asked_loads_no_sdk(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from agentworld_sim import ModelSettings, Scenario, ToolCall, World, WorldModel\n"
        "async def go():\n"
        "    model = WorldModel(ModelSettings(url='http://127.0.0.1:9/v1'))\n"
        "    async with await World.create(Scenario.load('failing-test'), model=model) as world:\n"
        "        await world.step(ToolCall('bash', {'command': 'ls'}))\n"
        "asyncio.run(go())\n"
        "print([m for m in ('openai', 'aiohttp', 'httpx2') if m in sys.modules])\n"
    )
    assert python(code, tmp_path).strip() == "[]"


def test_importing_reads_no_environment_and_sets_up_no_logging(tmp_path: Path) -> None:
    code = (
        "import os, logging\n"
        # lazy-loader looks for a switch of its own.
        "class Watched(dict):\n"
        "    def __getitem__(self, key): raise SystemExit(f'read {key}')\n"
        "    def get(self, key, default=None):\n"
        "        if key != 'EAGER_IMPORT': raise SystemExit(f'read {key}')\n"
        "        return default\n"
        "    def __contains__(self, key): raise SystemExit(f'read {key}')\n"
        "os.environ = Watched()\n"
        "import agentworld_sim\n"
        "print(logging.getLogger().handlers, logging.getLogger('agentworld_sim').handlers)\n"
    )
    assert python(code, tmp_path).strip() == "[] []"


@pytest.mark.parametrize("package", ["agentworld_sim", "agentworld_fixtures"])
def test_packages_are_typed(package: str, tmp_path: Path) -> None:
    code = f"import importlib.resources as r\nprint((r.files({package!r}) / 'py.typed').is_file())"
    assert python(code, tmp_path).strip() == "True"


def test_pytest_leaves_the_modules_of_the_library_as_they_are() -> None:
    # It rewrites those of every wheel with a plugin, which took seconds at the first test.
    assert isinstance(import_module("agentworld_sim.world").__loader__, SourceFileLoader)
