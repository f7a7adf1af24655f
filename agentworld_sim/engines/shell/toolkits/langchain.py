"""LangChain's tools: `ShellTool`, `ShellToolMiddleware` and the file management toolkit.

Sources: langchain-community, `tools/shell` and `tools/file_management`; langchain 1.4,
`agents/middleware/shell_tool.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, Operation, ShellTurn
from agentworld_sim.engines.shell.toolkits import _langchain_files as managing
from agentworld_sim.engines.shell.toolkits._answers import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    STRING,
    failed,
    nullable,
    said,
    schema,
)
from agentworld_sim.engines.shell.toolkits._dash import in_dash_words
from agentworld_sim.engines.shell.toolkits._langchain_session import (
    in_session,
    without_details,
)
from agentworld_sim.types.turns import Observation


def _terminal(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    commands = arguments["commands"]
    script = commands if isinstance(commands, str) else ";".join(commands)
    run = turn.run(script, merge=True)
    return said(in_dash_words(run.stdout, script))


def _terminal_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(f"{error}\n")


def _session_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    lines = "\n".join(f"[stderr] {line}" for line in error.splitlines())
    return failed(f"{lines}\n\nExit code: 1")


def _file_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    # These tools never mark an error as one.
    return said(error)


def _file_tool(
    name: str, description: str, operation: Operation, input_schema: Mapping[str, Any]
) -> Binding:
    return Binding(
        id=f"langchain/{name}",
        names=(name,),
        domain="swe",
        description=description,
        input_schema=input_schema,
        operation=operation,
        failing=_file_failing,
    )


_COMMANDS = {"anyOf": [STRING, {"type": "array", "items": STRING}]}
_TWO_PATHS = schema("source_path destination_path", source_path=STRING, destination_path=STRING)

BINDINGS: tuple[Binding, ...] = (
    Binding(
        id="langchain/terminal",
        names=("terminal",),
        domain="terminal",
        description="Run shell commands on this Linux machine.",
        input_schema=schema("commands", commands=_COMMANDS),
        operation=_terminal,
        failing=_terminal_failing,
    ),
    Binding(
        id="langchain/shell",
        names=("shell",),
        domain="terminal",
        description="Run a shell command in a session that stays open, or restart the session.",
        input_schema=schema("", command=nullable(STRING), restart=nullable(BOOLEAN)),
        operation=without_details,
        keeps="all",
        failing=_session_failing,
    ),
    Binding(
        id="langchain/shell-session",
        # Of the middleware, which is set up with more than the model is shown.
        names=(),
        domain="terminal",
        description="Run a shell command in a session that stays open, or restart the session.",
        input_schema=schema(
            "",
            command=nullable(STRING),
            restart=nullable(BOOLEAN),
            command_timeout=NUMBER,
            startup_timeout=NUMBER,
            max_output_lines=INTEGER,
            max_output_bytes=INTEGER,
            workspace_root=STRING,
            env={"type": "object", "additionalProperties": STRING},
            startup_commands={"type": "array", "items": STRING},
        ),
        operation=in_session,
        keeps="all",
        failing=_session_failing,
    ),
    _file_tool(
        "read_file", "Read file from disk.", managing.read, schema("file_path", file_path=STRING)
    ),
    _file_tool(
        "write_file",
        "Write file to disk.",
        managing.write,
        schema("file_path text", file_path=STRING, text=STRING, append=BOOLEAN),
    ),
    _file_tool(
        "list_directory",
        "List files and directories in a specified folder.",
        managing.list_directory,
        schema("", dir_path=STRING),
    ),
    _file_tool(
        "copy_file",
        "Create a copy of a file in a specified location.",
        managing.copy,
        _TWO_PATHS,
    ),
    _file_tool(
        "move_file",
        "Move or rename a file from one location to another.",
        managing.move,
        _TWO_PATHS,
    ),
    _file_tool(
        "file_delete", "Delete a file.", managing.delete, schema("file_path", file_path=STRING)
    ),
    _file_tool(
        "file_search",
        "Search for files below a directory by a shell pattern for their names.",
        managing.search,
        schema("pattern", pattern=STRING, dir_path=STRING),
    ),
)
