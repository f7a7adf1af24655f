"""The real pytest, pip and virtual environments on the files of a world."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.errors import UsageError
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore
from tests.engines.shell.wasi.small_wheels import make_wheel

TESTS = """\
import os
import pytest

@pytest.mark.parametrize("n", range(17))
def test_square(n): assert n * n == sum([n] * n)
def test_tmp_path(tmp_path): (tmp_path / "a").write_text("x"); assert os.listdir(tmp_path) == ["a"]
def test_monkeypatch(monkeypatch): monkeypatch.setenv("A", "b"); assert os.environ["A"] == "b"
def test_capfd(capfd):
    os.write(1, b"low\\n"); print("high"); os.system("echo child")
    assert capfd.readouterr().out == "low\\nhigh\\nchild\\n"
"""

PROJECT = """\
[build-system]
requires = ["setuptools>=64"]
build-backend = "setuptools.build_meta"
[project]
name = "app"
version = "0.1"
dependencies = ["small"]
[project.scripts]
app = "app:main"
"""

Make = Callable[..., Awaitable[World]]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside a scenario, filled by the command that a user has."""
    folder = tmp_path_factory.mktemp("scenario")
    add = [sys.executable, "-m", "agentworld_sim.cli", "machine", "packages", "add"]
    subprocess.run([*add, "--to", str(folder / "wheels"), "pytest", "setuptools"], check=True)
    make_wheel(folder / "wheels", "small")
    return folder


@pytest.fixture
def make(
    wheels: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Make:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path_factory.getbasetemp() / "home"))

    async def made(**machine: object) -> World:
        said = {"workdir": "/srv", "packages": ["pytest"], "wheels": "wheels", **machine}
        files = {
            "/srv/test_all.py": TESTS,
            "/srv/app/pyproject.toml": PROJECT,
            "/srv/app/app.py": "import small\ndef main(): print('app of', small.version)\n",
        }
        text = {
            "name": "w",
            "domains": ["terminal"],
            "tools": ["terminal"],
            "machine": said,
            "files": files,
        }
        return await World.create(
            Scenario.parse(json.dumps(text), source="w", base_dir=wheels), store=MemoryStore()
        )

    return made


async def run(world: World, command: str) -> str:
    return (await world.step(ToolCall("bash", {"command": command}))).observation.text


async def test_pytest_answers_in_its_own_words(make: Make) -> None:
    world = await make()
    said = await run(world, "pytest test_all.py")
    assert said.startswith(
        "=" * 29 + " test session starts " + "=" * 30 + "\nplatform linux -- Python 3.12"
    )
    assert "rootdir: /srv\n" in said
    assert "20 passed in" in said
    assert "1 passed, 19 deselected" in await run(
        world, "python3 -m pytest -q -k tmp_path test_all.py"
    )
    assert await run(world, "cd app; pytest -q; echo $?") == "\nno tests ran in 0.00s\n5\n"


async def test_pip_installs_from_its_wheels_and_a_fork_has_what_was_installed(make: Make) -> None:
    world = await make()
    said = await run(
        world, "pip install small nothing; pip install small; python3 -c 'import small'"
    )
    assert "ERROR: No matching distribution found for nothing\n" in said
    assert "Successfully installed small-1.0\n" in said
    fork = await world.fork()
    assert "Successfully uninstalled small-1.0" in await run(fork, "pip uninstall -y small")
    assert await run(world, "pip freeze | grep small") == "small==1.0\n"
    reopened = await World.open(world.id, store=world.store)
    assert await run(reopened, "python3 -c 'import small; print(small.version)'") == "1.0\n"


async def test_a_project_is_installed_from_its_folder_and_its_command_found(make: Make) -> None:
    world = await make(workdir="/srv/app")
    said = await run(world, "python3 -m venv /v && . /v/bin/activate && pip install -q -e . && app")
    assert said == "app of 1.0\n"
    assert await run(world, "which app") == "/v/bin/app\n"
    assert await run(world, "/v/bin/python -c 'import sys; print(sys.prefix)'") == "/v\n"


async def test_the_same_packages_are_the_same_world_and_another_wheel_is_another(
    make: Make, wheels: Path
) -> None:
    first, again = await make(), await make()
    assert first.root == again.root
    small = wheels / "wheels" / "small-1.0-py3-none-any.whl"
    before = small.read_bytes()
    try:
        make_wheel(wheels / "wheels", "small", files={"more.py": ""})
        assert (await make()).root != first.root
    finally:
        small.write_bytes(before)


async def test_a_damaged_archive_is_built_again_and_a_missing_wheel_is_told(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentworld_sim.engines.shell.wasi import package_layer

    world = await make()
    machine = world.scenario.machine
    path = package_layer.layer_path(machine.packages, machine.pinned_wheels)
    path.write_bytes(path.read_bytes()[:-100])
    package_layer._whole.clear()  # pyright: ignore[reportPrivateUsage]
    await make()
    assert path.stat().st_size > 100
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"agentworld machine packages add .*pytest=="):
        package_layer.pinned_packages(machine.packages, pins=machine.pinned_wheels)
    with pytest.raises(UsageError, match="there is no wheel for 'pytest'"):
        await make(wheels=None)
