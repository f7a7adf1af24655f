"""Whether a tool of the user's is one of the well-known ones: by name, by schema, and by what it says itself.

A name alone is not enough, because an unknown tool may do anything behind a familiar name. A tool may say
what it is (`binds_to`); where its arguments have other names, it says which is which:
`terminal/bash(command=cmd, -timeout)` gives the tool's `cmd` as `command` and leaves `timeout` out, and
`append:=true` gives an argument one value, written as JSON. Of the names that people usually give to tools and
arguments, `usual_names.py` knows the mapping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.toolkits.usual_names import BY_NAME, LEFT_OUT, snake_case
from agentworld_sim.types.tools import ToolSpec

Names = Mapping[str, str | None]

_PART = re.compile(
    r"\s*(?:-\s*(?P<left_out>[^=]+?)|(?P<own>[^=:]+?)\s*(?P<sign>:?=)\s*(?P<name>[^\s=].*?))\s*"
)
"""One argument in a `binds_to`."""

_COMMA = re.compile(r",(?![^\[]*\])(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)")
"""One that stands in no JSON list and no JSON text."""


def plain_name(tool: ToolSpec) -> str:
    """A tool's name without that of the server before it, as `SERVER__TOOL` has it."""
    return tool.name.rpartition("__")[2] if tool.domain in ("mcp", "search") else tool.name


def binding_id(binds_to: str) -> str:
    """The id in a `binds_to`, without what it says of arguments."""
    return binds_to.partition("(")[0]


def arguments_of(binds_to: str | None, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call's arguments under the names of the well-known tool that answers it."""
    if binds_to is None or not binds_to.endswith(")"):
        return arguments
    names, constants = _mapping(binds_to)
    given = {names.get(name, name): value for name, value in arguments.items()}
    return {**{name: value for name, value in given.items() if name is not None}, **constants}


def usual_binding(tool: ToolSpec, known: Mapping[str, KnownTool]) -> tuple[str, list[str]] | None:
    """What a tool with a usual name would say in `binds_to`, and why it could not be answered so; `None` where
    the name is none of these. `known` are the well-known tools by id."""
    usual, given = BY_NAME.get(snake_case(tool.name)), properties(tool.input_schema)
    if usual is None:
        return None
    parts = [f"{own}:={value}" for own, value in usual.constants.items()]
    left = dict.fromkeys(given)
    for own, theirs in usual.arguments.items():
        found = next((one for one in theirs.split() if one in left), None)
        if found is not None:
            del left[found]
            parts += [] if found == own else [f"{own}={found}"]
    mine = properties(known[usual.binding].input_schema)
    parts += [f"-{one}" for one in left if one in LEFT_OUT and one not in mine]
    binds_to = f"{usual.binding}({', '.join(parts)})" if parts else usual.binding
    return binds_to, _problems(tool, known[usual.binding], *_mapping(binds_to))


def require_fit(tool: ToolSpec, known: KnownTool) -> None:
    """Raises `UsageError` where a tool says that it is `known`, and calls of it could not be answered.

    A schema that names no arguments says nothing of them, and is taken at its word.
    """
    assert tool.binds_to is not None
    names, constants = _mapping(tool.binds_to)
    given, mine = properties(tool.input_schema), properties(known.input_schema)
    about = f"tool {tool.name!r} binds to {tool.binds_to!r}"
    for name in names:
        if given and name not in given:
            raise UsageError(f"{about}, and it has no argument {name!r}.{nearest(name, given)}")
    for own in (*names.values(), *constants):
        if own is not None and own not in mine:
            raise UsageError(
                f"{about}, and {known.id!r} has no argument {own!r}.{nearest(own, mine)}"
            )
    problems = _problems(tool, known, names, constants) if given else []
    if not problems:
        return
    missing, lost = _unmatched_arguments(tool, known, names, constants)
    pairs = [f"{one}={another}" for one, another in zip(missing, lost, strict=False)]
    form = ", ".join([*pairs, *(f"-{name}" for name in lost[len(missing) :])])
    advice = f", or say which argument is which and what may be left out: '{known.id}({form})'"
    raise UsageError(
        f"{about}: {'; '.join(problems)}, and {tool.name!r} takes {', '.join(given)}."
        f" They are different tools{advice if form else ''}."
    )


def _unmatched_arguments(
    tool: ToolSpec, known: KnownTool, names: Names, constants: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """What the binding needs and is not given, and what the tool has and the binding would ignore."""
    given, mine = properties(tool.input_schema), properties(known.input_schema)
    taken = {*(names.get(name, name) for name in given), *constants}
    missing = [name for name in known.input_schema.get("required", ()) if name not in taken]
    return missing, [name for name in given if names.get(name, name) not in {None, *mine}]


def _problems(
    tool: ToolSpec, known: KnownTool, names: Names, constants: Mapping[str, Any]
) -> list[str]:
    """Why calls of the tool could not be answered by the binding."""
    given, mine = properties(tool.input_schema), properties(known.input_schema)
    missing, lost = _unmatched_arguments(tool, known, names, constants)
    other = [
        name
        for name in given
        if not _share_type(given[name], mine.get(str(names.get(name, name)), {}))
    ]
    found = [
        f"that binding needs {', '.join(missing)}" if missing else "",
        f"{', '.join(lost)} would be ignored" if lost else "",
        f"{', '.join(other)} is of another type there" if other else "",
    ]
    return [problem for problem in found if problem]


def schema_fits(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether calls that fit the user's schema can be answered by an operation written for ours.

    All that ours requires must be there, all that theirs has must be understood, and no argument may
    be of a type that ours does not take. An argument that would be ignored is one too many: its
    answers would be wrong.
    """
    mine, given = properties(ours), properties(theirs)
    if not set(ours.get("required", ())) <= set(given) <= set(mine):
        return False
    return all(_share_type(given[name], mine[name]) for name in given)


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
def _mapping(binds_to: str) -> tuple[Names, Mapping[str, Any]]:
    """The tool's argument to the binding's, `None` for one that is left out; and the constants.

    Raises:
        UsageError: it is not written so.
    """
    _, bracket, inside = binds_to.partition("(")
    names: dict[str, str | None] = {}
    constants: dict[str, Any] = {}
    for part in _COMMA.split(inside.removesuffix(")")) if bracket else ():
        found = _PART.fullmatch(part) if inside.endswith(")") else None
        own, name = found.group("own", "name") if found else (None, None)
        name = name or (found and found["left_out"])
        taken = {*names.values(), *constants} - {None}
        if not name or name in names or own in taken:
            raise UsageError(
                f"binds_to={binds_to!r} is not of the form 'toolkit/tool(theirs=yours, -left_out)', each"
                " argument once, for example 'terminal/bash(command=cmd)'."
            )
        if own and found and found["sign"] == ":=":
            constants[own] = _constant(binds_to, name)
        else:
            names[name] = own
    return names, constants


def _constant(binds_to: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(
            f"binds_to={binds_to!r}: {text!r} is not JSON, for example true."
        ) from None


def _share_type(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two schemas of an argument have a type in common, or one does not say."""
    first, second = types(one), types(other)
    return not first or not second or bool(_widen(first) & _widen(second))


def _widen(kinds: set[str]) -> set[str]:
    """A whole number is a number."""
    return kinds | {"number"} if "integer" in kinds else kinds
