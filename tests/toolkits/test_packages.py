"""Toolkits, engines and checks that other packages bring by entry point."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from agentworld_sim import (
    EngineFailure,
    Scenario,
    ToolCall,
    ToolSpec,
    UsageError,
    World,
    assembly as engine_registry,
)
from agentworld_sim.checks import DEFAULT_CHECKS, known_checks
from agentworld_sim.toolkits import KnownTool, lookup, toolkit

TOOLKIT = """
from agentworld_sim import Observation
from agentworld_sim.toolkits import KnownTool

def remember(turn, arguments):
    notes = [*turn.kept.get("notes", []), arguments["note"]]
    turn.kept.put("notes", notes)
    return Observation(text=f"{len(notes)} notes")

def wrong(error, arguments, seed):
    return Observation(text=f"acme: {error}")

TOOLS = tuple(
    KnownTool(
        id=f"acme/{name}", names=(name,), domain="swe", description="Notes something.",
        input_schema={"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]},
        engine="toolkits", operation=operation, failing="acme_tools:wrong",
    )
    for name, operation in (("remember", "acme_tools:remember"), ("lost", "acme_tools:lost"))
)
"""
ENGINE = """
from agentworld_sim import FunctionEngine

def build(setup):
    if setup.scenario.name == "without":
        return None
    return FunctionEngine({"greet": lambda arguments, values: "hello"}, name="acme", domain="mcp")
"""
CHECK = """
class Prices:
    name = "acme-prices"
    scope = "imagined"
    def judge(self, given):
        return "no price" if "$" not in given.observation.text else None

CHECK = Prices()
"""

Install = Callable[[str, str, str], None]


def forget() -> None:
    """What was found among the installed packages is looked up again."""
    for registry in (lookup.toolkits, engine_registry.engines, known_checks):
        registry._loaded.clear()  # pyright: ignore[reportPrivateUsage]
    lookup.known_tools.cache_clear()
    lookup.resolve_function.cache_clear()
    lookup._toolkit_names.cache_clear()  # pyright: ignore[reportPrivateUsage]
    lookup._by_name.cache_clear()  # pyright: ignore[reportPrivateUsage]
    engine_registry._builders.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a module of the package `acme` with one entry point: its group, its value, its source."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def install(group: str, value: str, source: str) -> None:
        module = value.partition(":")[0]
        monkeypatch.delitem(sys.modules, module, raising=False)
        invalidate_caches()
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[agentworld.{group}]\nacme = {value}\n")
        forget()

    yield install
    monkeypatch.undo()
    forget()


def note(name: str = "remember") -> ToolSpec:
    properties = {"note": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["note"]}
    return ToolSpec(name=name, input_schema=schema)


async def test_a_toolkit_of_a_package_answers_as_those_of_the_library_do(install: Install) -> None:
    install("toolkits", "acme_tools:TOOLS", TOOLKIT)
    assert [tool.binds_to for tool in toolkit("acme")] == ["acme/remember", "acme/lost"]
    lab = Scenario.model_validate({"name": "lab", "domains": ["swe"], "tools": ["acme"]})
    async with await World.create(lab, model=False) as world:
        await world.step(ToolCall("remember", {"note": "one"}))
        turn = await world.step(ToolCall("remember", {"note": "two"}))
        assert turn.observation.text == "2 notes"
        assert world.add_tools([note()])[0].binds_to == "acme/remember"
    told = lookup.failure_of(toolkit("acme")[0], "no", {}, 1)
    assert told.text == "acme: no"


def test_a_toolkit_cannot_take_the_place_of_anothers_tool(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    own = lookup.known_tools()["shell/run"]
    source = TOOLKIT.replace('id=f"acme/{name}"', 'id="shell/run"')
    install("toolkits", "acme_tools:TOOLS", source)
    assert lookup.known_tools()["shell/run"] is own
    assert "left out the tool 'shell/run': the ids of the toolkit 'acme'" in caplog.text


async def test_an_operation_that_is_not_there_is_named(install: Install) -> None:
    install("toolkits", "acme_tools:TOOLS", TOOLKIT)
    async with await World.create(model=False) as world:
        world.add_tools([note("lost")])
        with pytest.raises(
            EngineFailure, match=r"names the function 'acme_tools:lost', which cannot"
        ):
            await world.step(ToolCall("lost", {"note": "one"}))
        assert len(await world.trajectory()) == 0


@pytest.mark.parametrize(
    ("group", "source", "what"),
    [
        ("toolkits", "import nothing_of_that_name", "toolkit"),
        ("toolkits", "TOOLS = [1]", "toolkit"),
        ("engines", "import nothing_of_that_name", "engine"),
        ("engines", "TOOLS = 1", "engine"),
    ],
)
async def test_a_package_that_is_broken_is_named_and_takes_no_other_down(
    install: Install, caplog: pytest.LogCaptureFixture, group: str, source: str, what: str
) -> None:
    install(group, "acme_broken:TOOLS", source)
    async with await World.create(model=False) as world:
        world.add_tools([ToolSpec(name="run", binds_to="terminal/bash")])
        turn = await world.step(ToolCall("run", {"command": "echo hi"}))
    assert turn.observation.text == "hi\n"
    assert f"the {what} 'acme' of the package 'acme_broken' cannot be used" in caplog.text


async def test_an_engine_of_a_package_comes_before_those_that_guess(install: Install) -> None:
    install("engines", "acme_engine:build", ENGINE)
    async with await World.create(model="http://127.0.0.1:9") as world:
        (greet,) = world.add_tools([ToolSpec(name="greet")])
        assert greet.binds_to == "acme/greet"
        assert (await world.step(ToolCall("greet"))).observation.text == "hello"
    lab = Scenario.model_validate({"name": "without", "domains": ["swe"]})
    async with await World.create(lab, model="http://127.0.0.1:9") as world:
        assert world.add_tools([ToolSpec(name="greet")])[0].binds_to == "model/mcp"


def test_a_check_of_a_package_is_found_by_name(install: Install) -> None:
    install("checks", "acme_checks:CHECK", CHECK)
    assert known_checks.get("acme").name == "acme-prices"
    assert known_checks.get(DEFAULT_CHECKS[0].name) is DEFAULT_CHECKS[0]


def test_an_unknown_toolkit_in_a_scenario_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no toolkit 'claude'\. Did you mean 'claude-code'\?"):
        toolkit("claude")
    with pytest.raises(UsageError, match="not for agents"):
        toolkit("deepagents-backend")


def test_every_operation_and_every_form_of_a_failure_is_there() -> None:
    def references(tool: KnownTool) -> list[str]:
        named = [] if tool.engine == "web" else [tool.operation]
        return [*named, *([tool.failing] if tool.failing else [])]

    for tool in lookup.known_tools().values():
        assert all(callable(lookup.resolve_function(one)) for one in references(tool))
