"""The tools of the reference server `@modelcontextprotocol/server-filesystem`, release 2026.8.

Held against recordings of the real server. Where it may work is the scenario's
`machine.allowed_directories`; without them, the machine's working directory and then all of it, as if
the server had been started with both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, Operation, ShellTurn
from agentworld_sim.engines.shell.toolkits import _filesystem_listing as listing
from agentworld_sim.engines.shell.toolkits import _filesystem_reading as reading
from agentworld_sim.engines.shell.toolkits import _filesystem_writing as writing
from agentworld_sim.engines.shell.toolkits._answers import BOOLEAN, NUMBER, STRING, failed, schema
from agentworld_sim.engines.shell.toolkits._filesystem_paths import Refused, allowed_directories
from agentworld_sim.engines.shell.toolkits._node import NodeError
from agentworld_sim.types.turns import Observation

_STRINGS = {"type": "array", "items": STRING}
_EDITS = {"type": "array", "items": schema("oldText newText", oldText=STRING, newText=STRING)}
_MEDIA = {
    "anyOf": [
        schema("type data mimeType", type=STRING, data=STRING, mimeType=STRING),
        schema(
            "type resource",
            type=STRING,
            resource=schema("uri blob", uri=STRING, mimeType=STRING, blob=STRING),
        ),
    ]
}
_TEXT_OUTPUT = schema("content", content=STRING)
_MEDIA_OUTPUT = schema("content", content={"type": "array", "items": _MEDIA})


def _answering(operation: Callable[[ShellTurn, Mapping[str, Any]], str]) -> Operation:
    """An operation that says a text, or its error."""

    def run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            text = operation(turn, arguments)
        except (Refused, NodeError) as error:
            return failed(str(error))
        return Observation(text=text, structured={"content": text})

    return run


def _read_media(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    try:
        block = reading.media(turn, arguments["path"])
    except (Refused, NodeError) as error:
        return failed(str(error))
    return Observation(text="", structured={"content": [block]}, content=(block,))


def _allowed(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    return "\n".join(["Allowed directories:", *allowed_directories(turn)])


def _tool(
    name: str,
    description: str,
    operation: Callable[[ShellTurn, Mapping[str, Any]], str],
    input_schema: Mapping[str, Any],
) -> Binding:
    return Binding(
        id=f"filesystem/{name}",
        names=(name,),
        domain="mcp",
        description=description,
        input_schema=input_schema,
        output_schema=_TEXT_OUTPUT,
        operation=_answering(operation),
    )


_READ = schema("path", path=STRING, tail=NUMBER, head=NUMBER)
_PATH = schema("path", path=STRING)

BINDINGS: tuple[Binding, ...] = (
    _tool("read_file", "Reads a file as text; the older name.", reading.text, _READ),
    _tool(
        "read_text_file",
        "Reads a file as text: all of it, or its first or last lines.",
        reading.text,
        _READ,
    ),
    Binding(
        id="filesystem/read_media_file",
        names=("read_media_file",),
        domain="mcp",
        description="Reads a picture, a sound or any other file in base64, with its type.",
        input_schema=_PATH,
        output_schema=_MEDIA_OUTPUT,
        operation=_read_media,
    ),
    _tool(
        "read_multiple_files",
        "Reads several files as text; those that cannot be read are reported.",
        reading.several,
        schema("paths", paths={**_STRINGS, "minItems": 1}),
    ),
    _tool(
        "write_file",
        "Writes a file, replacing what it held.",
        writing.write,
        schema("path content", path=STRING, content=STRING),
    ),
    _tool(
        "edit_file",
        "Replaces texts in a file and shows the change as a patch.",
        writing.edit,
        schema("path edits", path=STRING, edits=_EDITS, dryRun={**BOOLEAN, "default": False}),
    ),
    _tool("create_directory", "Makes a directory and those above it.", writing.mkdir, _PATH),
    _tool("list_directory", "Lists a directory.", listing.names, _PATH),
    _tool(
        "list_directory_with_sizes",
        "Lists a directory with the sizes of files.",
        listing.sizes,
        schema("path", path=STRING, sortBy={**STRING, "enum": ["name", "size"]}),
    ),
    _tool(
        "directory_tree",
        "Shows everything below a directory as JSON.",
        listing.tree,
        schema("path", path=STRING, excludePatterns=_STRINGS),
    ),
    _tool(
        "move_file",
        "Moves or renames a file or a directory.",
        writing.move,
        schema("source destination", source=STRING, destination=STRING),
    ),
    _tool(
        "search_files",
        "Finds files and directories by a pattern.",
        listing.search,
        schema("path pattern", path=STRING, pattern=STRING, excludePatterns=_STRINGS),
    ),
    _tool("get_file_info", "Tells size, times and permissions of a file.", listing.info, _PATH),
    _tool("list_allowed_directories", "Tells where the tools may work.", _allowed, schema()),
)
