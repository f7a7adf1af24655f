"""The reference servers of the Model Context Protocol: files, memory, SQLite and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.toolkits.known_tool import KnownTool, Maker
from agentworld_sim.toolkits.schemas import BOOLEAN, STRING, STRINGS, schema

_EDITS = {"type": "array", "items": schema("oldText newText")}
_MEDIA = {
    "anyOf": [
        schema("type data mimeType"),
        schema("type resource", resource=schema("uri mimeType? blob")),
    ]
}
_TEXT_OUTPUT = schema("content")
_MEDIA_OUTPUT = schema("content", content={"type": "array", "items": _MEDIA})


_file_tool = Maker(
    toolkit="filesystem",
    domain="mcp",
    operations="agentworld_sim.engines.shell.toolkits.filesystem",
    output_schema=_TEXT_OUTPUT,
)
_SERVERS = "agentworld_sim.engines.toolkits"
_memory = Maker(toolkit="memory", domain="mcp", operations=f"{_SERVERS}.memory", engine="toolkits")
_sqlite = Maker(
    toolkit="sqlite", domain="mcp", operations=f"{_SERVERS}.sqlite", engine="toolkits", slow=True
)
_time = Maker(toolkit="time", domain="mcp", operations=f"{_SERVERS}.time", engine="toolkits")

_READ = schema("path tail?:number head?:number")
_PATH = schema("path")

FILESYSTEM_TOOLS: tuple[KnownTool, ...] = (
    _file_tool("read_file", "Reads a file as text; the older name.", _READ),
    _file_tool(
        "read_text_file",
        "Reads a file as text: all of it, or its first or last lines.",
        _READ,
    ),
    _file_tool(
        "read_media_file",
        "Reads a picture, a sound or any other file in base64, with its type.",
        _PATH,
        output_schema=_MEDIA_OUTPUT,
    ),
    _file_tool(
        "read_multiple_files",
        "Reads several files as text; those that cannot be read are reported.",
        schema("paths", paths={**STRINGS, "minItems": 1}),
    ),
    _file_tool(
        "write_file",
        "Writes a file, replacing what it held.",
        schema("path content"),
    ),
    _file_tool(
        "edit_file",
        "Replaces texts in a file and shows the change as a patch.",
        schema("path edits dryRun?", edits=_EDITS, dryRun={**BOOLEAN, "default": False}),
    ),
    _file_tool("create_directory", "Makes a directory and those above it.", _PATH),
    _file_tool("list_directory", "Lists a directory.", _PATH),
    _file_tool(
        "list_directory_with_sizes",
        "Lists a directory with the sizes of files.",
        schema("path sortBy?", sortBy={**STRING, "enum": ["name", "size"]}),
    ),
    _file_tool(
        "directory_tree",
        "Shows everything below a directory as JSON.",
        schema("path excludePatterns?:strings"),
    ),
    _file_tool(
        "move_file",
        "Moves or renames a file or a directory.",
        schema("source destination"),
    ),
    _file_tool(
        "search_files",
        "Finds files and directories by a pattern.",
        schema("path pattern excludePatterns?:strings"),
    ),
    _file_tool("get_file_info", "Tells size, times and permissions of a file.", _PATH),
    _file_tool("list_allowed_directories", "Tells where the tools may work.", schema()),
)

_ENTITY = schema("name entityType observations:strings")
_RELATION = schema("from to relationType")
_ENTITIES = {"type": "array", "items": _ENTITY}
_RELATIONS = {"type": "array", "items": _RELATION}
_GRAPH = schema("entities relations", entities=_ENTITIES, relations=_RELATIONS)
_DONE = schema("success:bool message")


def _each(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list of objects that have all of these."""
    return {"type": "array", "items": schema(" ".join(properties), **properties)}


_ADDED = _each(entityName=STRING, addedObservations=STRINGS)


def _memory_tool(
    name: str, description: str, output: Mapping[str, Any], **arguments: Mapping[str, Any]
) -> KnownTool:
    takes = schema(" ".join(arguments), **arguments)
    return _memory(name, description, takes, output_schema=output)


MEMORY_TOOLS: tuple[KnownTool, ...] = (
    _memory_tool(
        "create_entities",
        "Adds entities to the graph.",
        schema("entities", entities=_ENTITIES),
        entities=_ENTITIES,
    ),
    _memory_tool(
        "create_relations",
        "Adds relations between entities.",
        schema("relations", relations=_RELATIONS),
        relations=_RELATIONS,
    ),
    _memory_tool(
        "add_observations",
        "Adds observations to entities that are there.",
        schema("results", results=_ADDED),
        observations=_each(entityName=STRING, contents=STRINGS),
    ),
    _memory_tool(
        "delete_entities",
        "Deletes entities and their relations.",
        _DONE,
        entityNames=STRINGS,
    ),
    _memory_tool(
        "delete_observations",
        "Deletes observations of entities.",
        _DONE,
        deletions=_each(entityName=STRING, observations=STRINGS),
    ),
    _memory_tool("delete_relations", "Deletes relations.", _DONE, relations=_RELATIONS),
    _memory_tool("read_graph", "Shows the whole graph.", _GRAPH),
    _memory_tool(
        "search_nodes",
        "Finds entities by a part of their name, type or observations.",
        _GRAPH,
        query=STRING,
    ),
    _memory_tool("open_nodes", "Shows entities by name.", _GRAPH, names=STRINGS),
)

SQLITE_TOOLS: tuple[KnownTool, ...] = (
    *(
        _sqlite(name, description, schema(arguments))
        for name, description, arguments in (
            ("read_query", "Runs a SELECT query.", "query"),
            ("write_query", "Runs any other statement.", "query"),
            ("create_table", "Makes a table.", "query"),
            ("list_tables", "Lists the tables.", ""),
            ("describe_table", "Shows the columns of a table.", "table_name"),
            ("append_insight", "Adds an insight to the memo.", "insight"),
            # LangChain's toolkit for SQL, on the same database.
            ("sql_db_query", "Runs a query and gives its rows.", "query"),
            ("sql_db_schema", "Shows how tables were made, and rows of each.", "table_names"),
        )
    ),
    _sqlite("sql_db_list_tables", "Lists the tables by name.", schema("tool_input?")),
)

_MOMENT = schema("timezone datetime day_of_week is_dst:bool")

TIME_TOOLS: tuple[KnownTool, ...] = (
    _time(
        "get_current_time",
        "Tells the time in a time zone.",
        schema("timezone"),
        output_schema=_MOMENT,
    ),
    _time(
        "convert_time",
        "Tells what a time of today in one time zone is in another.",
        schema("source_timezone time target_timezone"),
        output_schema=schema("source target time_difference", source=_MOMENT, target=_MOMENT),
    ),
)
