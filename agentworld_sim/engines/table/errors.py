"""What the simulated server says when something is not there, is there already, or makes no sense."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from agentworld_sim.engines.table.operation import Plan
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Turn

_NOT_FOUND = re.compile(
    r"not found|not exist|n't exist|no such|unknown|could ?n[o']t find|cannot find|unable to find"
    r"|not be found|404|no \w+ (?:found|with)",
    re.IGNORECASE,
)
_OTHER = re.compile(r"already|duplicate|permission|denied|forbidden", re.IGNORECASE)
_ARGUMENTS = "Arguments"
_PLACE = "\0"


class ToolError(Exception):
    """The simulated server answers with an error; its text is what the agent sees."""

    missing: Sequence[Any] | None = None
    """The key of a record that is not there, when that is the error."""
    table: str = ""
    """Its table."""


def singular(table: str) -> str:
    """`pull_requests` → `pull request`, also where several servers have such a table."""
    *before, last = table.rpartition("__")[2].replace("-", "_").split("_")
    if last.endswith("ies") and len(last) > 4:
        last = last[:-3] + "y"
    elif re.search(r"(?:ss|x|ch|sh|zz)es$", last):
        last = last[:-2]
    elif last in ("people", "children"):
        last = {"people": "person", "children": "child"}[last]
    elif last.endswith("s") and not last.endswith(("ss", "us", "is")):
        last = last[:-1]
    return " ".join(word for word in (*before, last) if word)


def record_label(table: str, key: Sequence[Any]) -> str:
    """`Issue 12`."""
    thing = singular(table)
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
    """The record is not there."""
    error = ToolError(f"{record_label(table, key)} not found")
    error.missing, error.table = key, table
    return error


def in_own_words(pattern: str, key: Sequence[Any]) -> str:
    """A text of this very server, about another key; see `pattern_in`."""
    return pattern.replace(_PLACE, ", ".join(map(key_text, key)))


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


def pattern_in(turns: Iterable[Turn], plan: Plan, table: str, tool: str) -> str | None:
    """How this very server says that a record is not there, as its recorded answers show.

    Args:
        turns: Recorded turns, oldest first; those that were computed show nothing.
        tool: The tool that is asked; its own words go before those of others.

    Returns:
        The text with a mark where the key stands; `None` when no answer shows it.
    """
    found: str | None = None
    for turn in turns:
        observation = turn.observation
        if not observation.is_error or observation.provenance in ("computed", "enforced"):
            continue
        operation = plan.operations.get(turn.call.name)
        if operation is None or operation.table != table:
            continue
        text = observation.text
        if not _NOT_FOUND.search(text) or _OTHER.search(text):
            continue
        keys = [
            turn.call.arguments[name]
            for name, argument in operation.arguments.items()
            if argument.role == "key" and name in turn.call.arguments
        ]
        pattern = _pattern(text, keys)
        if pattern is None:
            continue
        if turn.call.name == tool:
            return pattern
        found = found or pattern
    return found


def _pattern(text: str, keys: Sequence[Any]) -> str | None:
    for key in reversed(keys):
        if isinstance(key, dict | list | bool) or key is None or key_text(key) == "":
            continue
        shown = re.escape(key_text(key))
        marked = re.sub(rf"(?<![\w-]){shown}(?![\w-])", _PLACE, text)
        if _PLACE in marked:
            return marked
    return None
