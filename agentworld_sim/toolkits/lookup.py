"""Finding well-known tools: those of the library, and those of packages with an entry point in the group
`agentworld.toolkits` that names a tuple of `KnownTool`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, cast

from agentworld_sim.errors import EngineFailure, UsageError, nearest
from agentworld_sim.registry import Registry
from agentworld_sim.toolkits import (
    anthropic,
    deepagents,
    gemini_cli,
    http_request,
    langchain,
    model_context_protocol,
    plain,
    playwright,
    search_services,
    web_search,
)
from agentworld_sim.toolkits.fitting import (
    arguments_of,
    binding_id,
    plain_name,
    properties,
    require_fit,
    schema_fits,
    types,
    usual_binding,
)
from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation

logger = logging.getLogger(__name__)

Toolkit = tuple[KnownTool, ...]

_BUILTIN: Mapping[str, Toolkit] = {
    "langchain": langchain.TOOLS,
    "deepagents": deepagents.TOOLS,
    "deepagents-backend": deepagents.BACKEND_TOOLS,
    "claude-code": anthropic.TOOLS,
    "gemini-cli": gemini_cli.TOOLS,
    "qwen-code": gemini_cli.QWEN_TOOLS,
    "terminal": plain.TERMINAL_TOOLS,
    "filesystem": model_context_protocol.FILESYSTEM_TOOLS,
    "shell": plain.SHELL_TOOLS,
    "memory": model_context_protocol.MEMORY_TOOLS,
    "sqlite": model_context_protocol.SQLITE_TOOLS,
    "time": model_context_protocol.TIME_TOOLS,
    "common": plain.COMMON_TOOLS,
    "answer": plain.ANSWER_TOOLS,
    "http": http_request.TOOLS,
    "playwright-toolkit": langchain.PLAYWRIGHT_TOOLS,
    "playwright-mcp": playwright.TOOLS,
    "playwright-mcp-ref": playwright.REF_TOOLS,
    playwright.BROWSERGYM: playwright.BROWSERGYM_TOOLS,
    "search": web_search.TOOLS,
    **search_services.TOOLKITS,
}
"""In the order in which they are tried when a tool fits more than one equally well."""


def _read(value: object) -> Toolkit:
    tools = cast("tuple[object, ...]", value if isinstance(value, tuple) else ())
    if not tools or not all(isinstance(tool, KnownTool) for tool in tools):
        raise TypeError(f"{value!r} is not a tuple of KnownTool")
    return cast("Toolkit", tools)


toolkits = Registry[Toolkit](
    "agentworld.toolkits", what="toolkit", builtin=lambda: _BUILTIN, read=_read
)
"""The toolkits by name; the tools of one have its name before the slash of their ids."""


@lru_cache(maxsize=1)
def known_tools() -> Mapping[str, KnownTool]:
    """All well-known tools by id, in the order in which they are tried."""
    found: dict[str, KnownTool] = {}
    for name, kit in toolkits.all().items():
        for tool in kit:
            if tool.id.startswith(f"{name}/"):
                found[tool.id] = tool
            else:
                # It would take the place of another toolkit's tool, and nobody would see it.
                logger.warning(
                    "left out the tool %r: the ids of the toolkit %r begin with its name",
                    tool.id,
                    name,
                )
    return found


def known_tool(binds_to: str | None) -> KnownTool | None:
    """The well-known tool that a bound tool is; `None` where it is something else."""
    return None if binds_to is None else known_tools().get(binding_id(binds_to))


def bind_to(tool: ToolSpec, engine: str) -> ToolSpec | None:
    """`tool` as bound to the well-known tool that it is, if that is one of the engine `engine`.

    Raises:
        UsageError: as `binding_for`.
    """
    found = _binding(tool)
    if found is None or found[0].engine != engine:
        return None
    return replace(tool, domain=found[0].domain, binds_to=found[1])


def binding_for(tool: ToolSpec) -> KnownTool | None:
    """The well-known tool that `tool` is; by `binds_to` if given, else by name and schema.

    Raises:
        UsageError: `binds_to` names no tool of its toolkit, or one whose arguments are others.
    """
    found = _binding(tool)
    return found and found[0]


def _binding(tool: ToolSpec) -> tuple[KnownTool, str] | None:
    """The well-known tool, and what `binds_to` says of it."""
    if tool.binds_to is not None:
        named = _by_id(tool, tool.binds_to)
        return named and (named, tool.binds_to)
    found = _best_fit(tool)
    if found is not None:
        return found, found.id
    # A tool of an MCP server has its server's words; one's own has no other.
    if tool.domain not in (None, "terminal", "swe"):
        return None
    usual = usual_binding(tool, known_tools())
    if (
        usual is None
        or usual[1]
        or (tool.domain is None and _best_fit(replace(tool, domain="mcp")))
    ):
        return None
    return known_tools()[binding_id(usual[0])], usual[0]


def _best_fit(tool: ToolSpec) -> KnownTool | None:
    """The one that fits best by name and schema."""
    fitting = [
        known
        for known in _by_name().get(plain_name(tool), ())
        if _may_be(tool, known)
        and schema_fits(tool.input_schema, known.input_schema)
        and properties(tool.input_schema).keys() >= {*known.distinctive}
    ]
    return min(fitting, key=lambda known: _distance(tool, known), default=None)


def unknown_to(tool: ToolSpec, engine: str) -> str:
    """Why `tool` is none of the well-known tools of the engine `engine`, for people; empty where none is like it."""
    usual = usual_binding(tool, known_tools())
    if usual is not None and usual[1]:
        binds_to, problems = usual
        mine = known_tools()[binding_id(binds_to)].engine == engine
        return f"It would be {binds_to!r}, but {'; '.join(problems)}." if mine else ""
    own = {
        name: one for one in known_tools().values() if one.engine == engine for name in one.names
    }
    if tool.name in own:
        takes = ", ".join(properties(tool.input_schema)) or "no arguments"
        return (
            f"{own[tool.name].id!r} has this name, and takes"
            f" {', '.join(properties(own[tool.name].input_schema)) or 'no arguments'} instead of {takes}."
        )
    near = get_close_matches(tool.name, own, n=1, cutoff=0.8)
    return f"Did you mean {near[0]!r}?" if near else ""


def toolkit(name: str) -> tuple[ToolSpec, ...]:
    """The tools of one toolkit, for example `claude-code`. What has no name of its own is left out.

    Raises:
        UsageError: there is no such toolkit, or none of its tools has a name of its own.
    """
    chosen = tuple(known.spec for known in toolkits.get(name) if known.names)
    if not chosen:
        raise UsageError(f"the tools of {name!r} are not for agents; they are named by binds_to.")
    return chosen


def check_toolkit(tool: ToolSpec, others: Sequence[str]) -> None:
    """Raises `UsageError` when a tool's `binds_to` begins with what no toolkit, no engine and none of `others`
    is called."""
    name, slash, _ = (tool.binds_to or "").partition("/")
    if not slash or name in others or name in _BUILTIN or name in _toolkit_names():
        return
    known = [*_toolkit_names(), *others]
    raise UsageError(
        f"tool {tool.name!r} binds to {tool.binds_to!r}: there is no toolkit {name!r}."
        f"{nearest(name, known)} There are: {', '.join(known)}. If it is none of these, install the"
        f" package that it comes with: it declares an entry point {name!r} in the group"
        f" {toolkits.group!r}."
    )


def failure_of(tool: ToolSpec, error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    """`error` as the bound tool would tell it: the tools that run commands have a form for what a failed command
    printed, and most others mark their result as an error. `seed` is of the turn."""
    known = known_tool(tool.binds_to)
    if known is None or known.failing is None:
        return Observation(text=error, is_error=True)
    return resolve_function(known.failing)(error, arguments_of(tool.binds_to, arguments), seed)


@lru_cache(maxsize=1024)
def resolve_function(reference: str) -> Callable[..., Any]:
    """The function that a `module:function` names.

    Raises:
        EngineFailure: there is none.
    """
    try:
        return resolve_name(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise EngineFailure(
            f"a toolkit names the function {reference!r}, which cannot be imported"
            f" ({type(error).__name__}: {error}). Repair or uninstall its package."
        ) from error


def _by_id(tool: ToolSpec, binds_to: str) -> KnownTool | None:
    known, identity = known_tools(), binding_id(binds_to)
    found = known.get(identity)
    if found is not None:
        require_fit(tool, found)
        return found
    if "/" in identity and identity.partition("/")[0] not in _toolkit_names():
        return None
    raise UsageError(
        f"tool {tool.name!r} binds to {binds_to!r}, which does not exist."
        f"{nearest(identity, known)} There are: {', '.join(known)}."
    )


@lru_cache(maxsize=1)
def _toolkit_names() -> tuple[str, ...]:
    # Looking at what is installed takes milliseconds, and every tool is held against the names.
    return toolkits.names()


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, tuple[KnownTool, ...]]:
    found: dict[str, tuple[KnownTool, ...]] = {}
    for tool in known_tools().values():
        for name in tool.names:
            found[name] = (*found.get(name, ()), tool)
    return found


def _may_be(tool: ToolSpec, known: KnownTool) -> bool:
    """Whether a tool's domain allows that its name alone makes it that tool. Who means another says so."""
    match tool.domain:
        case None:
            # Tools of MCP servers have ordinary names.
            return known.domain != "mcp"
        case "mcp":
            return known.domain != "web" or known.of_server
        case "terminal" | "swe":
            return known.domain in ("terminal", "swe")
        case own:
            return known.domain == own


def _distance(tool: ToolSpec, known: KnownTool) -> tuple[bool, int, int]:
    """How far a fitting schema is from the known one: other types, then arguments it does not have.

    Before all that, a tool of an MCP server is sooner one of a known server than of an agent's own.
    """
    mine, given = properties(known.input_schema), properties(tool.input_schema)
    others = sum(types(given[name]) - {"null"} != types(mine[name]) - {"null"} for name in given)
    elsewhere = (known.domain == "mcp") != (tool.domain == "mcp")
    return elsewhere, others, len(mine) - len(given)
