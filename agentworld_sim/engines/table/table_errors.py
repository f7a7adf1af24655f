"""What the simulated server says when something is not there, is there already, or makes no sense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentworld_sim.engines.table.words import singular
from agentworld_sim.types.tools import ToolSpec

_ARGUMENTS = "Arguments"


class ToolError(Exception):
    """The simulated server answers with an error; its text is what the agent sees."""


def singular_table(table: str) -> str:
    """`pull_requests` → `pull request`, also where several servers have such a table."""
    *before, last = table.rpartition("__")[2].replace("-", "_").split("_")
    return " ".join(word for word in (*before, singular(last)) if word)


def record_label(table: str, key: Sequence[Any]) -> str:
    """`Issue 12`."""
    thing = singular_table(table)
    shown = ", ".join(key_text(value) for value in key)
    return f"{thing[:1].upper()}{thing[1:]} {shown}".strip()


def key_text(value: Any) -> str:
    """A key as it stands in a message."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value)


def not_found(table: str, key: Sequence[Any]) -> ToolError:
    return ToolError(f"{record_label(table, key)} not found")


def already_exists(table: str, key: Sequence[Any]) -> ToolError:
    return ToolError(f"{record_label(table, key)} already exists")


def invalid(argument: str, value: Any) -> ToolError:
    """An argument that fits its schema and has no meaning: a cursor that was never given out."""
    shown = key_text(value)
    return ToolError(f"Invalid {argument}: {shown[:100]}")


def server_text(text: str, tool: ToolSpec) -> str:
    """The text of an error as the kind of server that has the tool tells it.

    The high-level server of the protocol's Python SDK says which tool failed. Its input schemas are
    titled after the tool: `create_ticketArguments`.
    """
    title = str(tool.input_schema.get("title", ""))
    if not title.endswith(_ARGUMENTS):
        return text
    own = title.removesuffix(_ARGUMENTS)
    # Beside other servers a tool's name has its server's in front.
    name = own if own and tool.name.endswith(f"__{own}") else tool.name
    return f"Error executing tool {name}: {text}"
