"""Anthropic: the tools of Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.toolkits.known_tool import KnownTool, Maker
from agentworld_sim.toolkits.schemas import BOOLEAN, NUMBER, STRING, schema

_tool = Maker(
    toolkit="claude-code",
    domain="swe",
    operations="agentworld_sim.engines.shell.toolkits.claude_code",
    shell="claude-code",
)

_MODES = {"type": "string", "enum": ["content", "files_with_matches", "count"]}
_GREP: dict[str, Mapping[str, Any]] = {
    "pattern": STRING,
    "path": STRING,
    "glob": STRING,
    "output_mode": _MODES,
    "-B": NUMBER,
    "-A": NUMBER,
    "-C": NUMBER,
    "context": NUMBER,
    "-n": BOOLEAN,
    "-i": BOOLEAN,
    "type": STRING,
    "head_limit": NUMBER,
    "offset": NUMBER,
    "multiline": BOOLEAN,
}

TOOLS: tuple[KnownTool, ...] = (
    _tool(
        "Bash",
        "Runs a bash command. The working directory is kept, other shell state is not.",
        schema(
            "command",
            command=STRING,
            timeout=NUMBER,
            description=STRING,
            run_in_background=BOOLEAN,
            dangerouslyDisableSandbox=BOOLEAN,
        ),
        keeps="cwd",
        failing="bash_failing",
    ),
    _tool(
        "Read",
        "Reads a file, with line numbers; at most 2000 lines unless asked otherwise.",
        schema("file_path", file_path=STRING, offset=NUMBER, limit=NUMBER, pages=STRING),
    ),
    _tool(
        "Write",
        "Creates a file, or replaces one that has been read.",
        schema("file_path content", file_path=STRING, content=STRING),
    ),
    _tool(
        "Edit",
        "Replaces an exact string in a file that has been read.",
        schema(
            "file_path old_string new_string",
            file_path=STRING,
            old_string=STRING,
            new_string=STRING,
            replace_all=BOOLEAN,
        ),
    ),
    _tool(
        "Glob",
        "Finds files by a name pattern.",
        schema("pattern", pattern=STRING, path=STRING),
    ),
    _tool(
        "Grep",
        "Searches the contents of files by a regular expression, with ripgrep.",
        schema("pattern", **_GREP),
    ),
    _tool(
        "TodoWrite",
        "Keeps the list of what is to be done.",
        schema("todos", todos={"type": "array"}),
    ),
)
