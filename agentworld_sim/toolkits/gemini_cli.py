"""Google and Alibaba: the tools of Gemini CLI and of Qwen Code, which began as a copy of it."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, Maker
from agentworld_sim.toolkits.schemas import BOOLEAN, NUMBER, STRING, schema

_MODULE = "agentworld_sim.engines.shell.toolkits.gemini_cli"
_gemini = Maker(toolkit="gemini-cli", domain="swe", operations=_MODULE)
_qwen = Maker(toolkit="qwen-code", domain="swe", operations=_MODULE)

_FILTERING = {"type": "object"}
_PATTERNS = {"type": "array", "items": STRING}
_EDIT = {"file_path": STRING, "old_string": STRING, "new_string": STRING}
_SHELL = "Runs a command as `bash -c` does and reports its output, exit code and processes."
_READ = "Reads a file; at most 2000 lines unless asked otherwise, counted from 0."

TOOLS: tuple[KnownTool, ...] = (
    _gemini(
        "run_shell_command",
        _SHELL,
        schema("command", command=STRING, description=STRING, directory=STRING),
        failing="failing",
    ),
    _gemini(
        "read_file",
        _READ,
        schema("absolute_path", absolute_path=STRING, offset=NUMBER, limit=NUMBER),
    ),
    _gemini(
        "write_file",
        "Creates a file or replaces its content.",
        schema("file_path content", file_path=STRING, content=STRING),
    ),
    _gemini(
        "replace",
        "Replaces an exact text in a file, as often as expected.",
        schema("file_path old_string new_string", **_EDIT, expected_replacements=NUMBER),
    ),
    _gemini(
        "glob",
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
    _gemini(
        "search_file_content",
        "Searches the contents of files by a regular expression.",
        schema("pattern", pattern=STRING, path=STRING, include=STRING),
    ),
    _gemini(
        "list_directory",
        "Lists a directory, folders first.",
        schema("path", path=STRING, ignore=_PATTERNS, file_filtering_options=_FILTERING),
    ),
)

QWEN_TOOLS: tuple[KnownTool, ...] = (
    _qwen(
        "run_shell_command",
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
        failing="failing",
    ),
    _qwen(
        "read_file",
        _READ,
        schema("file_path", file_path=STRING, offset=NUMBER, limit=NUMBER),
    ),
    _qwen(
        "edit",
        "Replaces an exact text in a file.",
        schema("file_path old_string new_string", **_EDIT, replace_all=BOOLEAN),
    ),
    _qwen(
        "todo_write",
        "Keeps the list of what is to be done.",
        schema("todos", todos={"type": "array"}),
    ),
)
