"""What a server says of bad arguments, in the words of the SDK that its schemas give away.

The expected texts were recorded from servers of the official TypeScript SDK 1.32 with zod 4.6 and of
Python servers of the protocol's own collection, in November 2026.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_mcp_shim._argument_errors import Schema, argument_errors, validation_style

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
EDIT: dict[str, Any] = {
    "$schema": DRAFT_7,
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
                "required": ["oldText", "newText"],
            },
        },
        "dryRun": {"type": "boolean", "default": False},
    },
    "required": ["path", "edits"],
}
PATHS: dict[str, Any] = {
    "$schema": DRAFT_7,
    "type": "object",
    "properties": {
        "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "sortBy": {"type": "string", "enum": ["name", "size"]},
    },
    "required": ["paths"],
}
BEGIN = "MCP error -32602: Input validation error: Invalid arguments for tool t: "


@pytest.mark.parametrize(
    ("schema", "arguments", "said"),
    [
        (
            EDIT,
            {},
            (
                "Invalid input: expected string, received undefined at path\n"
                "Invalid input: expected array, received undefined at edits"
            ),
        ),
        (
            EDIT,
            {"path": 1, "edits": [{"oldText": 1}], "dryRun": "x"},
            (
                "Invalid input: expected string, received number at path\n"
                "Invalid input: expected string, received number at edits[0].oldText\n"
                "Invalid input: expected string, received undefined at edits[0].newText\n"
                "Invalid input: expected boolean, received string at dryRun"
            ),
        ),
        (
            EDIT,
            {"path": "x", "edits": "no"},
            "Invalid input: expected array, received string at edits",
        ),
        (PATHS, {"paths": []}, "Too small: expected array to have >=1 items at paths"),
        (
            PATHS,
            {"paths": [1, None]},
            (
                "Invalid input: expected string, received number at paths[0]\n"
                "Invalid input: expected string, received null at paths[1]"
            ),
        ),
        (
            PATHS,
            {"paths": ["a"], "sortBy": "bad"},
            'Invalid option: expected one of "name"|"size" at sortBy',
        ),
    ],
)
def test_a_typescript_server_speaks_as_zod_does(
    schema: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    assert argument_errors("t", Schema(schema), arguments) == BEGIN + said


def test_a_typescript_server_takes_properties_that_it_does_not_know() -> None:
    assert argument_errors("t", Schema(PATHS), {"paths": ["a"], "more": 1}) is None


def test_a_low_level_python_server_speaks_as_jsonschema_does() -> None:
    schema = Schema({"type": "object", "title": "GitStatus", "required": ["repo_path"]})
    assert argument_errors("git_status", schema, {}) == (
        "Input validation error: 'repo_path' is a required property"
    )


@pytest.mark.parametrize(
    ("schema", "style"),
    [
        ({"$schema": DRAFT_7, "type": "object"}, "zod"),
        ({"type": "object", "title": "add_noteArguments"}, "pydantic"),
        ({"type": "object"}, "pydantic"),
        ({"type": "object", "title": "GitStatus"}, "jsonschema"),
    ],
)
def test_the_schemas_give_the_library_away(schema: dict[str, Any], style: str) -> None:
    assert validation_style(schema) == style


def test_a_schema_written_by_hand_is_one_of_a_server_that_asks_jsonschema() -> None:
    # As `mcp-server-sqlite` 2025.4 lists its tools and answers.
    written = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    assert argument_errors("read_query", Schema(written), {}) == (
        "Input validation error: 'query' is a required property"
    )


def test_what_is_none_of_the_names_is_not_told_to_be_of_another_type_as_well() -> None:
    # As `@modelcontextprotocol/server-filesystem` 2026.8 answers.
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"sortBy": {"type": "string", "enum": ["name", "size"]}},
    }
    assert argument_errors("list", Schema(schema), {"sortBy": 1}) == (
        "MCP error -32602: Input validation error: Invalid arguments for tool list:"
        ' Invalid option: expected one of "name"|"size" at sortBy'
    )
