"""The tools of the reference server `@modelcontextprotocol/server-filesystem`, release 2026.8.

Held against recordings of the real server. Where it may work is the scenario's
`machine.allowed_directories`; without them, the machine's working directory and then all of it, as if
the server had been started with both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentworld_sim.engines.shell.toolkits import _filesystem_listing as listing
from agentworld_sim.engines.shell.toolkits import _filesystem_reading as reading
from agentworld_sim.engines.shell.toolkits import _filesystem_writing as writing
from agentworld_sim.engines.shell.toolkits._answers import failed
from agentworld_sim.engines.shell.toolkits._filesystem_paths import Refused, allowed_directories
from agentworld_sim.engines.shell.toolkits._node import NodeError
from agentworld_sim.engines.shell.turn import Operation, ShellTurn
from agentworld_sim.types.turns import Observation


def _answering(operation: Callable[[ShellTurn, Mapping[str, Any]], str]) -> Operation:
    """An operation that says a text, or its error."""

    def run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            text = operation(turn, arguments)
        except (Refused, NodeError) as error:
            return failed(str(error))
        return Observation(text=text, structured={"content": text})

    return run


def read_media_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    try:
        block = reading.media(turn, arguments["path"])
    except (Refused, NodeError) as error:
        return failed(str(error))
    return Observation(text="", structured={"content": [block]}, content=(block,))


def _allowed(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    return "\n".join(["Allowed directories:", *allowed_directories(turn)])


read_file = _answering(reading.text)
read_text_file = read_file
read_multiple_files = _answering(reading.several)
write_file = _answering(writing.write)
edit_file = _answering(writing.edit)
create_directory = _answering(writing.mkdir)
list_directory = _answering(listing.names)
list_directory_with_sizes = _answering(listing.sizes)
directory_tree = _answering(listing.tree)
move_file = _answering(writing.move)
search_files = _answering(listing.search)
get_file_info = _answering(listing.info)
list_allowed_directories = _answering(_allowed)
