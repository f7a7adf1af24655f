"""Anthropic: the tools of Claude Code."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, ToolkitMaker

_tool = ToolkitMaker(
    toolkit="claude-code",
    domain="swe",
    operations="agentworld_sim.engines.shell.toolkits.claude_code",
    shell="claude-code",
)

TOOLS: tuple[KnownTool, ...] = (
    _tool(
        "Bash",
        "Runs a bash command. The working directory is kept, other shell state is not.",
        "command timeout?:number description? run_in_background?:boolean"
        " dangerouslyDisableSandbox?:boolean",
        keeps="cwd",
        failing="bash_failing",
    ),
    _tool(
        "Read",
        "Reads a file, with line numbers; at most 2000 lines unless asked otherwise.",
        "file_path offset?:number limit?:number pages?",
    ),
    _tool("Write", "Creates a file, or replaces one that has been read.", "file_path content"),
    _tool(
        "Edit",
        "Replaces an exact string in a file that has been read.",
        "file_path old_string new_string replace_all?:boolean",
    ),
    _tool("Glob", "Finds files by a name pattern.", "pattern path?"),
    _tool(
        "Grep",
        "Searches the contents of files by a regular expression, with ripgrep.",
        "pattern path? glob? output_mode?:content,files_with_matches,count -B?:number -A?:number"
        " -C?:number context?:number -n?:boolean -i?:boolean type? head_limit?:number offset?:number"
        " multiline?:boolean",
    ),
    _tool("TodoWrite", "Keeps the list of what is to be done.", "todos:array"),
)
