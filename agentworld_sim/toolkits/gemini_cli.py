"""Google and Alibaba: the tools of Gemini CLI and of Qwen Code, which began as a copy of it."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, ToolkitMaker

_MODULE = "agentworld_sim.engines.shell.toolkits.gemini_cli"
_gemini = ToolkitMaker(toolkit="gemini-cli", domain="swe", operations=_MODULE)
_qwen = ToolkitMaker(toolkit="qwen-code", domain="swe", operations=_MODULE)

_SHELL = "Runs a command as `bash -c` does and reports its output, exit code and processes."
_READ = "Reads a file; at most 2000 lines unless asked otherwise, counted from 0."

TOOLS: tuple[KnownTool, ...] = (
    _gemini("run_shell_command", _SHELL, "command description? directory?", failing="failing"),
    _gemini("read_file", _READ, "absolute_path offset?:number limit?:number"),
    _gemini("write_file", "Creates a file or replaces its content.", "file_path content"),
    _gemini(
        "replace",
        "Replaces an exact text in a file, as often as expected.",
        "file_path old_string new_string expected_replacements?:number",
    ),
    _gemini(
        "glob",
        "Finds files by a path pattern.",
        "pattern path? case_sensitive?:boolean respect_git_ignore?:boolean"
        " respect_gemini_ignore?:boolean",
    ),
    _gemini(
        "search_file_content",
        "Searches the contents of files by a regular expression.",
        "pattern path? include?",
    ),
    _gemini(
        "list_directory",
        "Lists a directory, folders first.",
        "path ignore?:strings file_filtering_options?:object",
    ),
)

QWEN_TOOLS: tuple[KnownTool, ...] = (
    _qwen(
        "run_shell_command",
        _SHELL,
        "command is_background:boolean timeout?:number description? directory?",
        operation="qwen_run_shell_command",
        failing="failing",
    ),
    _qwen("read_file", _READ, "file_path offset?:number limit?:number"),
    _qwen(
        "edit",
        "Replaces an exact text in a file.",
        "file_path old_string new_string replace_all?:boolean",
    ),
    _qwen("todo_write", "Keeps the list of what is to be done.", "todos:array"),
)
