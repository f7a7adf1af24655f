"""Google and Alibaba: the tools of Gemini CLI and of Qwen Code, which began as a copy of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.toolkits.schemas import BOOLEAN, NUMBER, STRING, schema

_OPERATIONS = "agentworld_sim.engines.shell.toolkits.gemini_cli"


def _tool(
    identity: str,
    description: str,
    input_schema: Mapping[str, Any],
    *,
    operation: str = "",
    failing: str | None = None,
) -> KnownTool:
    name = identity.partition("/")[2]
    return KnownTool(
        id=identity,
        names=(name,),
        domain="swe",
        description=description,
        input_schema=input_schema,
        engine="shell",
        operation=f"{_OPERATIONS}:{operation or name}",
        failing=failing,
    )


_FILTERING = {"type": "object"}
_PATTERNS = {"type": "array", "items": STRING}
_EDIT = {"file_path": STRING, "old_string": STRING, "new_string": STRING}
_SHELL = "Runs a command as `bash -c` does and reports its output, exit code and processes."
_READ = "Reads a file; at most 2000 lines unless asked otherwise, counted from 0."

TOOLS: tuple[KnownTool, ...] = (
    _tool(
        "gemini-cli/run_shell_command",
        _SHELL,
        schema("command", command=STRING, description=STRING, directory=STRING),
        failing=f"{_OPERATIONS}:failing",
    ),
    _tool(
        "gemini-cli/read_file",
        _READ,
        schema("absolute_path", absolute_path=STRING, offset=NUMBER, limit=NUMBER),
    ),
    _tool(
        "gemini-cli/write_file",
        "Creates a file or replaces its content.",
        schema("file_path content", file_path=STRING, content=STRING),
    ),
    _tool(
        "gemini-cli/replace",
        "Replaces an exact text in a file, as often as expected.",
        schema("file_path old_string new_string", **_EDIT, expected_replacements=NUMBER),
    ),
    _tool(
        "gemini-cli/glob",
        "Finds files by a path pattern.",
        schema(
            "pattern",
            pattern=STRING,
            path=STRING,
            case_sensitive=BOOLEAN,
            respect_git_ignore=BOOLEAN,
            respect_gemini_ignore=BOOLEAN,
        ),
    ),
    _tool(
        "gemini-cli/search_file_content",
        "Searches the contents of files by a regular expression.",
        schema("pattern", pattern=STRING, path=STRING, include=STRING),
    ),
    _tool(
        "gemini-cli/list_directory",
        "Lists a directory, folders first.",
        schema("path", path=STRING, ignore=_PATTERNS, file_filtering_options=_FILTERING),
    ),
)

QWEN_TOOLS: tuple[KnownTool, ...] = (
    _tool(
        "qwen-code/run_shell_command",
        _SHELL,
        schema(
            "command is_background",
            command=STRING,
            is_background=BOOLEAN,
            timeout=NUMBER,
            description=STRING,
            directory=STRING,
        ),
        operation="qwen_run_shell_command",
        failing=f"{_OPERATIONS}:failing",
    ),
    _tool(
        "qwen-code/read_file",
        _READ,
        schema("file_path", file_path=STRING, offset=NUMBER, limit=NUMBER),
    ),
    _tool(
        "qwen-code/edit",
        "Replaces an exact text in a file.",
        schema("file_path old_string new_string", **_EDIT, replace_all=BOOLEAN),
    ),
    _tool(
        "qwen-code/todo_write",
        "Keeps the list of what is to be done.",
        schema("todos", todos={"type": "array"}),
    ),
)
