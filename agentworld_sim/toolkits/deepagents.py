"""deepagents: the tools of its middleware, and the operations of its backend."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, Maker
from agentworld_sim.toolkits.schemas import schema

_tool = Maker(
    toolkit="deepagents",
    domain="swe",
    operations="agentworld_sim.engines.shell.toolkits.deepagents",
)
_backend_tool = Maker(
    toolkit="deepagents-backend",
    domain="swe",
    operations="agentworld_sim.engines.shell.toolkits.deepagents_backend",
    # No tool of an agent is one of these: the backend says so itself.
    for_agents=False,
)

_EXECUTE = (
    "execute",
    "Runs a shell command on the machine and returns what it printed and its exit code.",
    schema("command timeout?:int|null"),
)
_LIST = ("ls", "Lists a directory.", schema("path"))
_SEARCHES = "Searches the contents of files for a literal text."
_SHARED = (
    ("write_file", "Creates a file or replaces its content.", schema("file_path content")),
    (
        "edit_file",
        "Replaces an exact string in a file.",
        schema("file_path old_string new_string replace_all?:bool"),
    ),
    ("delete", "Deletes a file, or a directory with all it holds.", schema("file_path")),
    (
        "glob",
        "Finds files by a name pattern and returns absolute paths.",
        schema("pattern path?:|null"),
    ),
)

TOOLS: tuple[KnownTool, ...] = (
    _tool(*_EXECUTE, failing="execute_failing"),
    _tool(*_LIST),
    _tool(
        "read_file",
        "Reads a file, at most 100 lines unless asked for more. Lines are counted from 0.",
        schema("file_path offset?:int limit?:int"),
    ),
    *(_tool(*shared) for shared in _SHARED),
    _tool(
        "grep",
        _SEARCHES,
        schema(
            "pattern path?:|null glob?:|null output_mode? max_count?:int|null",
            output_mode={"type": "string", "enum": ["files_with_matches", "content", "count"]},
        ),
    ),
)

BACKEND_TOOLS: tuple[KnownTool, ...] = (
    _backend_tool(*_EXECUTE),
    _backend_tool(*_LIST),
    _backend_tool(
        "read_file",
        "Reads a page of a file. Lines are counted from 0.",
        schema("file_path offset?:int limit?:int"),
    ),
    *(_backend_tool(*shared) for shared in _SHARED),
    _backend_tool("grep", _SEARCHES, schema("pattern path?:|null glob?:|null max_count?:int|null")),
    _backend_tool(
        "upload_file",
        "Puts a file onto the machine.",
        schema(
            "file_path content encoding?", encoding={"type": "string", "enum": ["utf-8", "base64"]}
        ),
    ),
)
