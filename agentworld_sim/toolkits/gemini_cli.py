"""Google and Alibaba: the tools of Gemini CLI and of Qwen Code, which began as a copy of it."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, Maker
from agentworld_sim.toolkits.schemas import schema

_MODULE = "agentworld_sim.engines.shell.toolkits.gemini_cli"
_gemini = Maker(toolkit="gemini-cli", domain="swe", operations=_MODULE)
_qwen = Maker(toolkit="qwen-code", domain="swe", operations=_MODULE)

_SHELL = "Runs a command as `bash -c` does and reports its output, exit code and processes."
_READ = "Reads a file; at most 2000 lines unless asked otherwise, counted from 0."

TOOLS: tuple[KnownTool, ...] = (
    _gemini(
        "run_shell_command",
        _SHELL,
        schema("command description? directory?"),
        failing="failing",
    ),
    _gemini("read_file", _READ, schema("absolute_path offset?:number limit?:number")),
    _gemini("write_file", "Creates a file or replaces its content.", schema("file_path content")),
    _gemini(
        "replace",
        "Replaces an exact text in a file, as often as expected.",
        schema("file_path old_string new_string expected_replacements?:number"),
    ),
    _gemini(
        "glob",
        "Finds files by a path pattern.",
        schema(
            "pattern path? case_sensitive?:bool respect_git_ignore?:bool respect_gemini_ignore?:bool"
        ),
    ),
    _gemini(
        "search_file_content",
        "Searches the contents of files by a regular expression.",
        schema("pattern path? include?"),
    ),
    _gemini(
        "list_directory",
        "Lists a directory, folders first.",
        schema("path ignore?:strings file_filtering_options?:object"),
    ),
)

QWEN_TOOLS: tuple[KnownTool, ...] = (
    _qwen(
        "run_shell_command",
        _SHELL,
        schema("command is_background:bool timeout?:number description? directory?"),
        operation="qwen_run_shell_command",
        failing="failing",
    ),
    _qwen("read_file", _READ, schema("file_path offset?:number limit?:number")),
    _qwen(
        "edit",
        "Replaces an exact text in a file.",
        schema("file_path old_string new_string replace_all?:bool"),
    ),
    _qwen("todo_write", "Keeps the list of what is to be done.", schema("todos:array")),
)
