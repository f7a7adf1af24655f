"""`KnownTool`: a well-known tool as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentworld_sim.types.tools import DomainName, ToolSpec

Keeps = Literal["nothing", "cwd", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTool:
    """A well-known tool: what it looks like, and which engine answers it by which operation.

    `operation` and `failing` are references, `module:function`, that are imported when the tool is first
    used: a tool can be found, listed and bound without the engine behind it.
    """

    id: str
    """`toolkit/tool`, for example `claude-code/Bash`."""
    names: tuple[str, ...]
    """Tool names that bind without being told to."""
    domain: DomainName
    description: str
    input_schema: Mapping[str, Any]
    """The schema the real tool publishes, in our words."""
    engine: str
    """The name of the engine that answers it: `shell`, `toolkits`, `web`, `search`."""
    operation: str
    """What computes one call, in the form that its engine takes; arguments fit `input_schema`."""
    output_schema: Mapping[str, Any] | None = None
    """Of its structured content, if the real tool publishes one."""
    failing: str | None = None
    """How the tool words a failure that it did not compute: a function of the error's text, the call's
    arguments and the turn's seed. `None` for tools that mark the text as an error."""
    keeps: Keeps = "nothing"
    """What the real tool's shell keeps between calls; documentation and behaviour at once."""
    shell: str = ""
    """Tools with the same non-empty name here share one shell; empty: the tool's own."""
    slow: bool = False
    """Whether it may take long enough to be computed in a thread; the shell decides for itself."""
    of_server: bool = False
    """Whether an MCP server offers it, although its domain is another."""
    distinctive: tuple[str, ...] = ()
    """Arguments that tell it from others of an ordinary name (`search`, `fetch`), although calls may leave them out."""

    @property
    def toolkit(self) -> str:
        """The name of its toolkit."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The tool's own name within the toolkit."""
        return self.id.rpartition("/")[2]

    @property
    def spec(self) -> ToolSpec:
        """The tool as an agent would be given it."""
        return ToolSpec(
            name=self.names[0] if self.names else self.name,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            domain=self.domain,
            binds_to=self.id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolkitMaker:
    """Makes the tools of one toolkit, which have most in common."""

    toolkit: str
    domain: DomainName
    operations: str
    """The module of the operations, which are called as their tools are."""
    engine: str = "shell"
    failing: str = ""
    """The function of that module that words a failure, where all tools have one."""
    output_schema: Mapping[str, Any] | None = None
    shell: str = ""
    slow: bool = False
    of_server: bool = False
    for_agents: bool = True
    """Whether a tool binds under its own name unless it is given others."""

    def __call__(
        self,
        name: str,
        description: str,
        takes: Mapping[str, Any] | str,
        *,
        names: tuple[str, ...] | None = None,
        operation: str = "",
        failing: str = "",
        output_schema: Mapping[str, Any] | None = None,
        keeps: Keeps = "nothing",
    ) -> KnownTool:
        """One tool. What it takes is a schema, or the arguments in the words of `schemas.arguments`."""
        failing = failing or self.failing
        own = (name,) if self.for_agents else ()
        return KnownTool(
            id=f"{self.toolkit}/{name}",
            names=own if names is None else names,
            domain=self.domain,
            description=description,
            input_schema=arguments(takes) if isinstance(takes, str) else takes,
            engine=self.engine,
            operation=f"{self.operations}:{operation or name}",
            output_schema=output_schema or self.output_schema,
            failing=f"{self.operations}:{failing}" if failing else None,
            keeps=keeps,
            shell=self.shell,
            slow=self.slow,
            of_server=self.of_server,
        )


STRING: Mapping[str, Any] = {"type": "string"}
STRINGS: Mapping[str, Any] = {"type": "array", "items": STRING}
BOOLEAN: Mapping[str, Any] = {"type": "boolean"}

_KINDS: Mapping[str, Mapping[str, Any]] = {
    "": STRING,
    "strings": STRINGS,
    **{
        name: {"type": name}
        for name in ("string", "integer", "number", "boolean", "object", "array")
    },
}


def arguments(text: str = "", /, **kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an object, in words: `"path head?:number paths:strings timeout?:integer|null"`.

    Args:
        text: The names, separated by spaces. A `?` follows one that may be left out; after a colon comes
            its type where that is no plain string, or the words that it may be, separated by commas;
            `|null` follows where `null` may be given too, as Python tools publish it.
        kinds: The schemas of names whose type has no word.
    """
    properties: dict[str, Mapping[str, Any]] = {}
    required: list[str] = []
    for word in text.split():
        name, _, kind = word.partition(":")
        plain, nullable, _ = kind.partition("|null")
        if not name.endswith("?"):
            required.append(name)
        name = name.removesuffix("?")
        words = {"type": "string", "enum": plain.split(",")}
        schema = kinds[name] if name in kinds else words if "," in plain else _KINDS[plain]
        properties[name] = {"anyOf": [schema, {"type": "null"}]} if nullable else schema
    return {"type": "object", "properties": properties, "required": required}


def objects(text: str, /, **kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list of objects, each as `arguments` says."""
    return {"type": "array", "items": arguments(text, **kinds)}
