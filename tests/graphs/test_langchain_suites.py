"""LangChain's own suites for tools, on simulated ones."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import BaseModel, Field

from agentworld_graphs import simulate
from agentworld_sim import Scenario, World
from agentworld_sim.runtime.sync import run_sync

SCENARIO = Scenario.model_validate(
    {
        "name": "suites",
        "domains": ["terminal", "swe"],
        "tools": ["terminal"],
        "files": {"/srv/note.txt": "remember the milk\n"},
    }
)


def world() -> World:
    return run_sync(World.create(SCENARIO))


class ShellInput(BaseModel):
    """As in LangChain's ShellTool."""

    commands: str | list[str] = Field(description="Commands, one after the other.")


class ShellTool(BaseTool):
    """As LangChain's ShellTool."""

    name: str = "terminal"
    description: str = "Runs shell commands on this machine."
    args_schema: Any = ShellInput

    def _run(self, commands: str | list[str]) -> str:
        raise AssertionError("the real tool ran")


def read_file(file_path: str) -> tuple[str, object]:
    """Reads a file."""
    raise AssertionError("the real tool ran")


class Shell:
    """What both suites need to know of the shell tool."""

    @property
    def tool_constructor(self) -> BaseTool:
        return simulate(ShellTool(), world())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"commands": ["cd /srv", "cat note.txt"]}


class File:
    """What both suites need to know of a tool with artifacts."""

    @property
    def tool_constructor(self) -> BaseTool:
        real = StructuredTool.from_function(read_file, response_format="content_and_artifact")
        return simulate(real, world())

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"file_path": "/srv/note.txt"}


class TestShellUnit(Shell, ToolsUnitTests):
    """The unit suite."""


class TestShellIntegration(Shell, ToolsIntegrationTests):
    """The integration suite."""


class TestFileUnit(File, ToolsUnitTests):
    """The unit suite."""


class TestFileIntegration(File, ToolsIntegrationTests):
    """The integration suite."""
