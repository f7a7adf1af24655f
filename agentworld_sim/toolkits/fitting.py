"""Whether a tool of the user's is one of the well-known ones: by name, by schema, and by what it says itself.

A name alone is not enough, because an unknown tool may do anything behind a familiar name. A tool may say
what it is (`binds_to`); where its arguments have other names, it says which is which:
`terminal/bash(command=cmd, -timeout)` gives the tool's `cmd` as `command` and leaves `timeout` out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.types.tools import ToolSpec


def plain_name(tool: ToolSpec) -> str:
    """A tool's name without that of the server before it, as `SERVER__TOOL` has it."""
    return tool.name.rpartition("__")[2] if tool.domain == "mcp" else tool.name


def binding_id(binds_to: str) -> str:
    """The id in a `binds_to`, without what it says of arguments."""
    return binds_to.partition("(")[0]


def arguments_of(binds_to: str | None, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call's arguments under the names of the well-known tool that answers it."""
    if binds_to is None or not binds_to.endswith(")"):
        return arguments
    names = _names(binds_to)
    given = {names.get(name, name): value for name, value in arguments.items()}
    return {name: value for name, value in given.items() if name is not None}


def require_fit(tool: ToolSpec, known: KnownTool) -> None:
    """Raises `UsageError` where a tool says that it is `known`, and calls of it could not be answered.

    A schema that names no arguments says nothing of them, and is taken at its word.
    """
    assert tool.binds_to is not None
    names = _names(tool.binds_to)
    given, mine = properties(tool.input_schema), properties(known.input_schema)
    about = f"tool {tool.name!r} binds to {tool.binds_to!r}"
    for name, own in names.items():
        if given and name not in given:
            raise UsageError(f"{about}, and it has no argument {name!r}.{nearest(name, given)}")
        if own is not None and own not in mine:
            raise UsageError(
                f"{about}, and {known.id!r} has no argument {own!r}.{nearest(own, mine)}"
            )
    if not given:
        return
    taken = {names.get(name, name): schema for name, schema in given.items()}
    missing = [name for name in known.input_schema.get("required", ()) if name not in taken]
    lost = [name for name in given if names.get(name, name) not in {None, *mine}]
    other = [
        name for name in given if not _agree(given[name], mine.get(str(names.get(name, name)), {}))
    ]
    if not missing and not lost and not other:
        return
    problems = [
        f"that binding needs {', '.join(missing)}" if missing else "",
        f"{', '.join(lost)} would be ignored" if lost else "",
        f"{', '.join(other)} is of another type there" if other else "",
    ]
    pairs = [f"{one}={another}" for one, another in zip(missing, lost, strict=False)]
    form = ", ".join([*pairs, *(f"-{name}" for name in lost[len(missing) :])])
    advice = f", or say which argument is which and what may be left out: '{known.id}({form})'"
    raise UsageError(
        f"{about}: {'; '.join(filter(None, problems))}, and {tool.name!r} takes {', '.join(given)}."
        f" They are different tools{advice if form else ''}."
    )


def schema_fits(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether calls that fit the user's schema can be answered by an operation written for ours.

    All that ours requires must be there, all that theirs has must be understood, and no argument may
    be of a type that ours does not take. An argument that would be ignored is one too many: its
    answers would be wrong.
    """
    mine, given = properties(ours), properties(theirs)
    if not set(ours.get("required", ())) <= set(given) <= set(mine):
        return False
    return all(_agree(given[name], mine[name]) for name in given)


def properties(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The arguments that a schema names."""
    return cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))


def types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types a schema allows; empty when it does not say."""
    named = schema.get("type")
    if isinstance(named, str):
        return {named}
    if isinstance(named, list):
        return set(cast("list[str]", named))
    found: set[str] = set()
    for key in ("anyOf", "oneOf"):
        for option in cast("list[Mapping[str, Any]]", schema.get(key, [])):
            found |= types(option)
    return found


@lru_cache(maxsize=1024)
def _names(binds_to: str) -> Mapping[str, str | None]:
    """The tool's argument to the binding's; `None` for one that is left out.

    Raises:
        UsageError: it is not written so.
    """
    _, bracket, inside = binds_to.partition("(")
    if not bracket:
        return {}
    found: dict[str, str | None] = {}
    for part in inside.removesuffix(")").split(",") if inside.endswith(")") else [""]:
        own, equals, name = (word.strip() for word in part.partition("="))
        left_out = own.startswith("-") and not equals
        if left_out:
            own, name = "", own[1:].strip()
        if not name or name in found or not (left_out or own) or own in found.values():
            raise UsageError(
                f"binds_to={binds_to!r} is not of the form 'toolkit/tool(theirs=yours, -left_out)', each"
                " argument once, for example 'terminal/bash(command=cmd)'."
            )
        found[name] = own or None
    return found


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two schemas of an argument have a type in common, or one does not say."""
    first, second = types(one), types(other)
    return not first or not second or bool(_widened(first) & _widened(second))


def _widened(kinds: set[str]) -> set[str]:
    """A whole number is a number."""
    return kinds | {"number"} if "integer" in kinds else kinds
