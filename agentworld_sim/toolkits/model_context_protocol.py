"""The reference servers of the Model Context Protocol: files, memory, SQLite and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.toolkits.known_tool import (
    BOOLEAN,
    STRINGS,
    KnownTool,
    ToolkitMaker,
    arguments,
    objects,
)

_EDITS = objects("oldText newText")
_MEDIA = {
    "anyOf": [
        arguments("type data mimeType"),
        arguments("type resource", resource=arguments("uri mimeType? blob")),
    ]
}
_MEDIA_OUTPUT = arguments("content", content={"type": "array", "items": _MEDIA})


_file_tool = ToolkitMaker(
    toolkit="filesystem",
    domain="mcp",
    operations="agentworld_sim.engines.shell.toolkits.filesystem",
    output_schema=arguments("content"),
)
_SERVERS = "agentworld_sim.engines.toolkits"
_memory = ToolkitMaker(
    toolkit="memory", domain="mcp", operations=f"{_SERVERS}.memory", engine="toolkits"
)
_sqlite = ToolkitMaker(
    toolkit="sqlite", domain="mcp", operations=f"{_SERVERS}.sqlite", engine="toolkits", slow=True
)
_time = ToolkitMaker(toolkit="time", domain="mcp", operations=f"{_SERVERS}.time", engine="toolkits")

_READ = "path tail?:number head?:number"

FILESYSTEM_TOOLS: tuple[KnownTool, ...] = (
    _file_tool("read_file", "Reads a file as text; the older name.", _READ),
    _file_tool(
        "read_text_file", "Reads a file as text: all of it, or its first or last lines.", _READ
    ),
    _file_tool(
        "read_media_file",
        "Reads a picture, a sound or any other file in base64, with its type.",
        "path",
        output_schema=_MEDIA_OUTPUT,
    ),
    _file_tool(
        "read_multiple_files",
        "Reads several files as text; those that cannot be read are reported.",
        arguments("paths", paths={**STRINGS, "minItems": 1}),
    ),
    _file_tool("write_file", "Writes a file, replacing what it held.", "path content"),
    _file_tool(
        "edit_file",
        "Replaces texts in a file and shows the change as a patch.",
        arguments("path edits dryRun?", edits=_EDITS, dryRun={**BOOLEAN, "default": False}),
    ),
    _file_tool("create_directory", "Makes a directory and those above it.", "path"),
    _file_tool("list_directory", "Lists a directory.", "path"),
    _file_tool(
        "list_directory_with_sizes",
        "Lists a directory with the sizes of files.",
        "path sortBy?:name,size",
    ),
    _file_tool(
        "directory_tree",
        "Shows everything below a directory as JSON.",
        "path excludePatterns?:strings",
    ),
    _file_tool("move_file", "Moves or renames a file or a directory.", "source destination"),
    _file_tool(
        "search_files",
        "Finds files and directories by a pattern.",
        "path pattern excludePatterns?:strings",
    ),
    _file_tool("get_file_info", "Tells size, times and permissions of a file.", "path"),
    _file_tool("list_allowed_directories", "Tells where the tools may work.", ""),
)

_ENTITIES = objects("name entityType observations:strings")
_RELATIONS = objects("from to relationType")
_GRAPH = arguments("entities relations", entities=_ENTITIES, relations=_RELATIONS)
_DONE = arguments("success:boolean message")


def _memory_tool(
    name: str,
    description: str,
    output: Mapping[str, Any],
    takes: str = "",
    **kinds: Mapping[str, Any],
) -> KnownTool:
    return _memory(name, description, arguments(takes, **kinds), output_schema=output)


MEMORY_TOOLS: tuple[KnownTool, ...] = (
    _memory_tool(
        "create_entities",
        "Adds entities to the graph.",
        arguments("entities", entities=_ENTITIES),
        "entities",
        entities=_ENTITIES,
    ),
    _memory_tool(
        "create_relations",
        "Adds relations between entities.",
        arguments("relations", relations=_RELATIONS),
        "relations",
        relations=_RELATIONS,
    ),
    _memory_tool(
        "add_observations",
        "Adds observations to entities that are there.",
        arguments("results", results=objects("entityName addedObservations:strings")),
        "observations",
        observations=objects("entityName contents:strings"),
    ),
    _memory_tool(
        "delete_entities", "Deletes entities and their relations.", _DONE, "entityNames:strings"
    ),
    _memory_tool(
        "delete_observations",
        "Deletes observations of entities.",
        _DONE,
        "deletions",
        deletions=objects("entityName observations:strings"),
    ),
    _memory_tool(
        "delete_relations", "Deletes relations.", _DONE, "relations", relations=_RELATIONS
    ),
    _memory_tool("read_graph", "Shows the whole graph.", _GRAPH),
    _memory_tool(
        "search_nodes",
        "Finds entities by a part of their name, type or observations.",
        _GRAPH,
        "query",
    ),
    _memory_tool("open_nodes", "Shows entities by name.", _GRAPH, "names:strings"),
)

SQLITE_TOOLS: tuple[KnownTool, ...] = (
    _sqlite("read_query", "Runs a SELECT query.", "query"),
    _sqlite("write_query", "Runs any other statement.", "query"),
    _sqlite("create_table", "Makes a table.", "query"),
    _sqlite("list_tables", "Lists the tables.", ""),
    _sqlite("describe_table", "Shows the columns of a table.", "table_name"),
    _sqlite("append_insight", "Adds an insight to the memo.", "insight"),
    # LangChain's toolkit for SQL, on the same database.
    _sqlite("sql_db_query", "Runs a query and gives its rows.", "query"),
    _sqlite("sql_db_schema", "Shows how tables were made, and rows of each.", "table_names"),
    _sqlite("sql_db_list_tables", "Lists the tables by name.", "tool_input?"),
)

_MOMENT = arguments("timezone datetime day_of_week is_dst:boolean")

TIME_TOOLS: tuple[KnownTool, ...] = (
    _time("get_current_time", "Tells the time in a time zone.", "timezone", output_schema=_MOMENT),
    _time(
        "convert_time",
        "Tells what a time of today in one time zone is in another.",
        "source_timezone time target_timezone",
        output_schema=arguments("source target time_difference", source=_MOMENT, target=_MOMENT),
    ),
)
