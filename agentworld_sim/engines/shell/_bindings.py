"""Bindings: the well-known tools that the shell engine answers, each in the tool's own words.

A tool of the user's binds when its name and its schema both fit; a name alone is not enough, because
an unknown tool may do anything behind a familiar name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.engines.shell._live import Keep, LiveShell, ShellRun
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.schema.match import plain_name, properties, schema_fits, types
from agentworld_sim.types.tools import DomainName, ToolSpec
from agentworld_sim.types.turns import Observation

if TYPE_CHECKING:
    from agentworld_sim.engines.toolkits import ServerTool

TOOLKIT_MODULES = (
    "langchain",
    "deepagents",
    "deepagents_backend",
    "claude_code",
    "gemini_cli",
    "terminal",
    "filesystem",
    "plain",
)
"""In the order in which they are tried when a tool fits more than one equally well."""


@dataclass(slots=True)
class ShellTurn:
    """What an operation works with: the live machine and the shells it keeps."""

    live: LiveShell
    sessions: dict[str, ShellSession]
    raw: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Other things kept between calls, for example a terminal's screen."""
    changed: set[str] = field(default_factory=set[str])
    """Names of sessions and raw entries written in this turn."""
    shell: str = "main"
    """Which shell this tool talks to."""

    @property
    def cwd(self) -> str:
        """Where the tool's shell stands."""
        return self.session.cwd or self.live.machine.workdir

    @property
    def session(self) -> ShellSession:
        return self.sessions.get(self.shell, ShellSession())

    def run(
        self,
        script: str,
        *,
        keep: Keep = "nothing",
        stdin: bytes | None = None,
        merge: bool = False,
        timeout_s: float | None = None,
    ) -> ShellRun:
        """Runs a script in this tool's shell and keeps what `keep` says.

        Args:
            script: Any bash text.
            keep: What the shell remembers for the tool's next call.
            stdin: Bytes to read from; `None` is an empty input.
            merge: Standard error goes where standard output goes.
            timeout_s: Seconds of the world's time after which the tool gives up.
        """
        result = self.live.run(
            script,
            self.session,
            keep=keep,
            stdin=stdin,
            merge=merge,
            timeout_us=None if timeout_s is None else round(timeout_s * 1_000_000),
        )
        if keep != "nothing":
            self.sessions[self.shell] = result.session
            self.changed.add(self.shell)
        return result

    def reset(self) -> None:
        """A fresh shell for the next call."""
        self.sessions[self.shell] = ShellSession()
        self.changed.add(self.shell)


_LOOKS = frozenset({"read_file", "Read", "ls", "list_directory"})

Operation = Callable[[ShellTurn, Mapping[str, Any]], Observation]
"""Computes one call. Arguments fit the binding's schema."""

Failing = Callable[[str, Mapping[str, Any], int], Observation]
"""How a tool tells a failure that it did not compute: the text of the error, the call's arguments, and the
seed of the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A well-known tool."""

    id: str
    """`toolkit/tool`, for example `claude-code/Bash`."""
    names: tuple[str, ...]
    """Tool names that bind without being told to."""
    domain: DomainName
    description: str
    input_schema: Mapping[str, Any]
    """The schema the real tool publishes, in our words."""
    operation: Operation
    output_schema: Mapping[str, Any] | None = None
    """Of its structured content, if the real tool publishes one."""
    keeps: Keep = "nothing"
    """What the real tool keeps between calls; documentation and behaviour at once."""
    shell: str = ""
    """Tools with the same non-empty name here share one shell; empty: the tool's own."""
    failing: Failing | None = None
    """For tools that do not tell failures by marking the text of the error as one."""

    @property
    def looks(self) -> bool:
        """Whether a call is a short look at one file or folder, sure to end at once."""
        return self.id.rpartition("/")[2] in _LOOKS

    @property
    def spec(self) -> ToolSpec:
        """The tool as an agent would be given it."""
        return ToolSpec(
            name=self.names[0] if self.names else self.id.rpartition("/")[2],
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            domain=self.domain,
            binds_to=self.id,
        )


@lru_cache(maxsize=1)
def bindings() -> Mapping[str, Binding]:
    """All bindings by id, in the order in which they are tried."""
    found: dict[str, Binding] = {}
    for module in TOOLKIT_MODULES:
        loaded = import_module(f"agentworld_sim.engines.shell.toolkits.{module}")
        for binding in cast("Sequence[Binding]", loaded.BINDINGS):
            found[binding.id] = binding
    return found


def binding_for(tool: ToolSpec) -> Binding | None:
    """The binding that answers `tool`; by `binds_to` if given, else by name and schema.

    Raises:
        UsageError: `binds_to` names no binding.
    """
    known = bindings()
    if tool.binds_to is not None:
        if tool.binds_to in known:
            return known[tool.binds_to]
        if "/" in tool.binds_to and tool.binds_to.partition("/")[0] not in _toolkits(known):
            return None
        raise UsageError(
            f"tool {tool.name!r} binds to {tool.binds_to!r}, which does not exist."
            f"{nearest(tool.binds_to, known)} There are: {', '.join(known)}."
        )
    name = plain_name(tool)
    fitting = [
        binding
        for binding in known.values()
        if name in binding.names
        # Tools of MCP servers have ordinary names: elsewhere, who means one of them says so.
        and (binding.domain != "mcp" or tool.domain == "mcp")
        and schema_fits(tool.input_schema, binding.input_schema)
    ]
    return min(fitting, key=partial(_distance, tool), default=None)


@lru_cache(maxsize=64)
def toolkit(name: str) -> tuple[ToolSpec, ...]:
    """The tools of one toolkit, for example `claude-code`. What has no name of its own is left out.

    Raises:
        UsageError: there is no such toolkit.
    """
    from agentworld_sim.engines.toolkits import server_tools

    known: list[Binding | ServerTool] = [*bindings().values(), *server_tools().values()]
    chosen = tuple(
        one.spec
        for one in known
        if one.id.startswith(name + "/") and (not isinstance(one, Binding) or one.names)
    )
    if not chosen:
        names = _toolkits(one.id for one in known)
        raise UsageError(
            f"there is no toolkit {name!r}.{nearest(name, names)} There are: {', '.join(names)}."
        )
    return chosen


def _toolkits(known: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(one.partition("/")[0] for one in known))


def _distance(tool: ToolSpec, binding: Binding) -> tuple[bool, int, int]:
    """How far a fitting schema is from the binding's: other types, then arguments it does not have.

    Before all that, a tool of an MCP server is sooner one of a known server than of an agent's own.
    """
    mine, given = properties(binding.input_schema), properties(tool.input_schema)
    others = sum(types(given[name]) - {"null"} != types(mine[name]) - {"null"} for name in given)
    elsewhere = (binding.domain == "mcp") != (tool.domain == "mcp")
    return elsewhere, others, len(mine) - len(given)
