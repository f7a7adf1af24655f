"""Which tool binds to what, and what the reference page says of it."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema.validators import validator_for

from agentworld_sim.errors import UsageError
from agentworld_sim.toolkits import binding_for, failure_of, known_tools, schema_fits, toolkit
from agentworld_sim.types.tools import ToolSpec
from tests.toolkits.bindings_page import PAGE, document

KEEPS = {
    "langchain/terminal": "nothing",
    "langchain/shell": "all",
    "deepagents/execute": "nothing",
    "claude-code/Bash": "cwd",
    "gemini-cli/run_shell_command": "nothing",
    "qwen-code/run_shell_command": "nothing",
    "terminal/keystrokes": "all",
    "terminal/bash": "all",
    "terminal/bash-c": "nothing",
}


def tool(name: str, required: str = "", **properties: str) -> ToolSpec:
    """A tool as a user would publish it; `required` is separated by spaces."""
    kinds = {argument: {"type": kind} for argument, kind in properties.items()}
    schema = {"type": "object", "properties": kinds, "required": required.split()}
    return ToolSpec(name=name, input_schema=schema)


def bound(spec: ToolSpec) -> str | None:
    binding = binding_for(spec)
    return binding and binding.id


def test_the_page_is_made_from_the_bindings() -> None:
    run = "python -m tests.toolkits.bindings_page"
    assert PAGE.read_text(encoding="utf-8") == document(), f"run: {run}"


def test_what_a_shell_keeps() -> None:
    assert {identity: known_tools()[identity].keeps for identity in KEEPS} == KEEPS


def test_schemas_are_valid_and_each_tool_as_it_is_published_binds_to_itself() -> None:
    shadowed = {"gemini-cli/write_file": "deepagents/write_file"}
    for identity, known in known_tools().items():
        schema: dict[str, Any] = dict(known.input_schema)
        validator_for(schema).check_schema(schema)
        assert set(schema["required"]) <= set(schema["properties"])
        assert bound(known.spec) == identity
        if known.names:
            # Tools of MCP servers bind by themselves where they come from such a server.
            domain = "mcp" if known.domain == "mcp" else None
            spec = ToolSpec(name=known.names[0], input_schema=schema, domain=domain)
            # What takes the same in both generations of Playwright's server is the newer one's, alone.
            same = identity.replace("playwright-mcp-ref/", "playwright-mcp/")
            assert bound(spec) in (shadowed.get(identity, identity), same)


@pytest.mark.parametrize(
    "spec, identity",
    [
        (tool("terminal", "commands", commands="string"), "langchain/terminal"),
        (tool("terminal", "commands", commands="array"), "langchain/terminal"),
        (tool("terminal", "commands", commands="integer"), None),
        (tool("terminal", "command", command="string"), "terminal/bash"),
        (tool("shell", command="string", restart="boolean"), "langchain/shell"),
        (tool("bash", "command", command="string"), "terminal/bash"),
        (tool("bash", "command machine", command="string", machine="string"), None),
        (tool("bash", "command", command="string", machine="string"), None),
        (tool("read_file", "file_path", file_path="string"), "langchain/read_file"),
        (
            tool("read_file", "file_path", file_path="string", offset="integer", limit="integer"),
            "deepagents/read_file",
        ),
        (
            tool("read_file", "file_path", file_path="string", offset="number", limit="number"),
            "qwen-code/read_file",
        ),
        (
            tool("read_file", "absolute_path", absolute_path="string", offset="integer"),
            "gemini-cli/read_file",
        ),
        (tool("read_file", "path", path="string"), None),
        (
            tool("write_file", "file_path text", file_path="string", text="string"),
            "langchain/write_file",
        ),
        (
            tool("write_file", "file_path content", file_path="string", content="string"),
            "deepagents/write_file",
        ),
        (tool("list_directory", dir_path="string"), "langchain/list_directory"),
        (tool("list_directory", "path", path="string"), "gemini-cli/list_directory"),
        (tool("glob", "pattern", pattern="string", path="string"), "deepagents/glob"),
        (
            tool("glob", "pattern", pattern="string", path="string", case_sensitive="boolean"),
            "gemini-cli/glob",
        ),
        (
            tool("run_shell_command", "command", command="string", directory="string"),
            "gemini-cli/run_shell_command",
        ),
        (
            tool(
                "run_shell_command",
                "command is_background",
                command="string",
                is_background="boolean",
            ),
            "qwen-code/run_shell_command",
        ),
        (tool("Bash", "command", command="string", timeout="integer"), "claude-code/Bash"),
        (tool("bash2", "command", command="string"), None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_name_and_arguments_decide(spec: ToolSpec, identity: str | None) -> None:
    assert bound(spec) == identity


def test_an_unknown_binding_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'claude-code/Bash'\?"):
        binding_for(ToolSpec(name="x", binds_to="claude-code/bash"))


def test_a_binding_of_another_engine_is_not_ours() -> None:
    assert binding_for(ToolSpec(name="x", binds_to="tables/query")) is None


FAILURES = {
    "langchain/terminal": ("no {disk}\n", False),
    "langchain/read_file": ("no {disk}", False),
    "deepagents/execute": ("no {disk}\n\n[Command failed with exit code 1]", False),
    "claude-code/Bash": ("Exit code 1\nno {disk}", True),
    "claude-code/Read": ("no {disk}", True),
    "terminal/bash": ("no {disk}\n", False),
    "terminal/keystrokes": ("no {disk}", False),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_tool_words_a_failure_in_its_own_form(name: str) -> None:
    failure = failure_of(ToolSpec(name="x", binds_to=name), "no {disk}", {}, 1)

    assert (failure.text, failure.is_error) == FAILURES[name]


def test_an_unknown_toolkit_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"no toolkit 'claude'\. Did you mean 'claude-code'\?"):
        toolkit("claude")


@pytest.mark.parametrize(
    "theirs, fits",
    [
        ({}, False),
        ({"properties": {"a": {}}}, True),
        ({"properties": {"a": {"type": "string"}}}, True),
        ({"properties": {"a": {"type": ["string", "null"]}}}, True),
        ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, True),
        ({"properties": {"a": {"type": "integer"}}}, False),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}, True),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "number"}}}, True),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}}, False),
        ({"properties": {"a": {"type": "string"}, "c": {"type": "string"}}}, False),
    ],
)
def test_schemas_fit(theirs: dict[str, Any], fits: bool) -> None:
    ours = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
        "required": ["a"],
    }
    assert schema_fits(theirs, ours) is fits
