"""deepagents: the tools of its middleware, and the operations of its backend."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool, Maker
from agentworld_sim.toolkits.schemas import BOOLEAN, INTEGER, STRING, nullable, schema

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

_MODES = {"type": "string", "enum": ["files_with_matches", "content", "count"]}

TOOLS: tuple[KnownTool, ...] = (
    _tool(
        "execute",
        "Runs a shell command on the machine and returns what it printed and its exit code.",
        schema("command", command=STRING, timeout=nullable(INTEGER)),
        failing="execute_failing",
    ),
    _tool("ls", "Lists a directory.", schema("path", path=STRING)),
    _tool(
        "read_file",
        "Reads a file, at most 100 lines unless asked for more. Lines are counted from 0.",
        schema("file_path", file_path=STRING, offset=INTEGER, limit=INTEGER),
    ),
    _tool(
        "write_file",
        "Creates a file or replaces its content.",
        schema("file_path content", file_path=STRING, content=STRING),
    ),
    _tool(
        "edit_file",
        "Replaces an exact string in a file.",
        schema(
            "file_path old_string new_string",
            file_path=STRING,
            old_string=STRING,
            new_string=STRING,
            replace_all=BOOLEAN,
        ),
    ),
    _tool(
        "delete",
        "Deletes a file, or a directory with all it holds.",
        schema("file_path", file_path=STRING),
    ),
    _tool(
        "glob",
        "Finds files by a name pattern and returns absolute paths.",
        schema("pattern", pattern=STRING, path=nullable(STRING)),
    ),
    _tool(
        "grep",
        "Searches the contents of files for a literal text.",
        schema(
            "pattern",
            pattern=STRING,
            path=nullable(STRING),
            glob=nullable(STRING),
            output_mode=_MODES,
            max_count=nullable(INTEGER),
        ),
    ),
)

BACKEND_TOOLS: tuple[KnownTool, ...] = (
    _backend_tool(
        "execute",
        "Runs a shell command on the machine and returns what it printed and its exit code.",
        schema("command", command=STRING, timeout=nullable(INTEGER)),
    ),
    _backend_tool("ls", "Lists a directory.", schema("path", path=STRING)),
    _backend_tool(
        "read_file",
        "Reads a page of a file. Lines are counted from 0.",
        schema("file_path", file_path=STRING, offset=INTEGER, limit=INTEGER),
    ),
    _backend_tool(
        "write_file",
        "Creates a file or replaces its content.",
        schema("file_path content", file_path=STRING, content=STRING),
    ),
    _backend_tool(
        "edit_file",
        "Replaces an exact string in a file.",
        schema(
            "file_path old_string new_string",
            file_path=STRING,
            old_string=STRING,
            new_string=STRING,
            replace_all=BOOLEAN,
        ),
    ),
    _backend_tool(
        "delete",
        "Deletes a file, or a directory with all it holds.",
        schema("file_path", file_path=STRING),
    ),
    _backend_tool(
        "glob",
        "Finds files by a name pattern and returns absolute paths.",
        schema("pattern", pattern=STRING, path=nullable(STRING)),
    ),
    _backend_tool(
        "grep",
        "Searches the contents of files for a literal text.",
        schema(
            "pattern",
            pattern=STRING,
            path=nullable(STRING),
            glob=nullable(STRING),
            max_count=nullable(INTEGER),
        ),
    ),
    _backend_tool(
        "upload_file",
        "Puts a file onto the machine.",
        schema(
            "file_path content",
            file_path=STRING,
            content=STRING,
            encoding={"type": "string", "enum": ["utf-8", "base64"]},
        ),
    ),
)
