"""What the command line says, as values that another process can be given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentworld_mcp_shim._stdio_lines import MAX_REQUEST_BYTES
from agentworld_mcp_shim._worlds import WorldChoice
from agentworld_sim.redaction.environment import SHORTEST, secrets_of
from agentworld_sim.types.tools import Access

UPSTREAM_SECONDS = 30.0
"""Time for an upstream to start and to list what it has; servers fetched with npx or uvx are slow."""

ANSWER_SECONDS = 50.0
"""Time for one answer. Clients written in TypeScript give up after 60 s, whatever progress they see."""

TOKEN_VARIABLES = ("AGENTWORLD_MCP_TOKEN", "AGENTWORLD_MCP_TOKENS")
"""One token, and principals with their tokens as a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTarget:
    """One server to mirror."""

    name: str = ""
    """Its own name when several share a world; empty for one that has it to itself."""
    command: tuple[str, ...] = ()
    """The command that starts it, or one `http(s)://` URL; empty when only a snapshot is given."""
    snapshot: Path | None = None
    """A file that `agentworld mcp snapshot` wrote. With it nothing is started to list tools."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables of the command, over this process's own."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers of requests to the URL. Never in argument lists, logs or records."""

    def secrets(self) -> frozenset[str]:
        """Values that are never written anywhere: of this process, of its own variables, and its headers."""
        headers = {value for value in self.headers.values() if len(value) >= SHORTEST}
        # A server may repeat the token alone, without the scheme that goes before it.
        words = {word for value in headers for word in value.split() if len(word) >= SHORTEST}
        words -= {word for word in words if word.lower() in ("bearer", "digest")}
        return secrets_of(os.environ) | secrets_of(self.env) | headers | words


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How the shim listens for clients over HTTP."""

    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    """Processes that answer; they share the store."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Principal by bearer token; empty for no authentication, which only loopback addresses may do."""
    operators: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The same for who may switch controls; empty for nobody."""
    allowed_hosts: tuple[str, ...] = ()
    """Values of `Host` that are accepted beside the address that is listened on."""
    allowed_origins: tuple[str, ...] = ()
    """Values of `Origin` that are accepted beside that address."""
    max_request_bytes: int = MAX_REQUEST_BYTES
    max_concurrent: int = 1024
    """Requests that are answered at a time, per worker; more are told to come back."""
    max_worlds: int = 10_000
    """Worlds that clients may make, per principal."""
    world_seconds: float = 24 * 3600.0
    """How long a world that a client made is kept after its last use; 0 for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShimSettings:
    """All that the shim is told at its start."""

    targets: tuple[UpstreamTarget, ...] = ()
    """The servers to mirror; the world's own tools when there are none."""
    worlds: WorldChoice = field(default_factory=WorldChoice)
    binds: Mapping[str, str] = field(default_factory=dict[str, str])
    """Binding ids by tool name."""
    access: Mapping[str, Access] = field(default_factory=dict[str, Access])
    """Access rules that go before the scenario's; methods such as `resources/read` count as names."""
    pinned: bool = False
    """Refuse to start when an upstream lists other tools than before, instead of a warning."""
    record: Path | None = None
    """Cassette that real calls are recorded into."""
    volatile: tuple[str, ...] = ()
    """Fields whose values differ each time, for the cassette."""
    control_tools: bool = False
    """Whether clients are offered tools that tell, reset and fork worlds."""
    answer_seconds: float = ANSWER_SECONDS
    upstream_seconds: float = UPSTREAM_SECONDS
    max_request_bytes: int = MAX_REQUEST_BYTES
    http: HttpSettings | None = None
    """`None` for standard input and output."""
