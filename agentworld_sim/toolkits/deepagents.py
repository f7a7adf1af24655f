"""deepagents: the tools of its middleware, and the operations of its backend."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, ToolkitMaker

_tool = ToolkitMaker(
    toolkit="deepagents",
    domain="swe",
    operations="agentworld_sim.engines.shell.toolkits.deepagents",
)
_backend_tool = ToolkitMaker(
    toolkit="deepagents-backend",
    domain="swe",
    operations="agentworld_sim.engines.shell.toolkits.deepagents_backend",
    # No tool of an agent is one of these: the backend says so itself.
    for_agents=False,
)

TOOLS: tuple[KnownTool, ...] = (
    _tool(
        "execute",
        "Runs a shell command on the machine and returns what it printed and its exit code.",
        "command timeout?:integer|null",
        failing="execute_failing",
    ),
    _tool("ls", "Lists a directory.", "path"),
    _tool(
        "read_file",
        "Reads a file, at most 100 lines unless asked for more. Lines are counted from 0.",
        "file_path offset?:integer limit?:integer",
    ),
    _tool("write_file", "Creates a file or replaces its content.", "file_path content"),
    _tool(
        "edit_file",
        "Replaces an exact string in a file.",
        "file_path old_string new_string replace_all?:boolean",
    ),
    _tool("delete", "Deletes a file, or a directory with all it holds.", "file_path"),
    _tool(
        "glob",
        "Finds files by a name pattern and returns absolute paths.",
        "pattern path?:string|null",
    ),
    _tool(
        "grep",
        "Searches the contents of files for a literal text.",
        "pattern path?:string|null glob?:string|null output_mode?:files_with_matches,content,count"
        " max_count?:integer|null",
    ),
)

BACKEND_TOOLS: tuple[KnownTool, ...] = (
    *(
        _backend_tool(tool.name, tool.description, tool.input_schema)
        for tool in TOOLS
        if tool.name not in ("read_file", "grep")
    ),
    _backend_tool(
        "read_file",
        "Reads a page of a file. Lines are counted from 0.",
        "file_path offset?:integer limit?:integer",
    ),
    _backend_tool(
        "grep",
        "Searches the contents of files for a literal text.",
        "pattern path?:string|null glob?:string|null max_count?:integer|null",
    ),
    _backend_tool(
        "upload_file", "Puts a file onto the machine.", "file_path content encoding?:utf-8,base64"
    ),
)
