"""The clients whose configuration files are known: how to tell them, and what they call things."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from agentworld_mcp_shim.wrapping._nodes import Document, Member, Node
from agentworld_sim.errors import UsageError, nearest

Format = Literal["jsonc", "toml", "yaml"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client's kind of file."""

    name: str
    """For `--client`."""
    title: str
    format: Format = "jsonc"
    paths: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    """Where its servers are, as paths of keys; `*` is any key."""
    files: tuple[str, ...] = ()
    """How its file's path ends."""
    usual: tuple[str, ...] = ()
    """Where its file usually is: `~` is the home folder, the rest is below the current one."""
    command: str = "command"
    env: str = "env"
    urls: tuple[str, ...] = ("url",)
    headers: str = "headers"
    sse_urls: tuple[str, ...] = ()
    """Of `urls`, those that mean the older SSE transport unless `type` says otherwise."""
    fills_env: bool = True
    """Whether it fills in placeholders in `env`."""
    can: Literal["stdio", "both"] = "both"


CLIENTS = (
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        files=("claude_desktop_config.json",),
        usual=(
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        fills_env=False,
        can="stdio",
    ),
    Client(
        name="claude-code",
        title="Claude Code",
        files=(".mcp.json", ".claude.json"),
        paths=(("mcpServers",), ("projects", "*", "mcpServers")),
        usual=(".mcp.json", "~/.claude.json"),
    ),
    Client(
        name="cursor",
        title="Cursor",
        files=(".cursor/mcp.json",),
        usual=(".cursor/mcp.json", "~/.cursor/mcp.json"),
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        files=(".gemini/settings.json",),
        urls=("httpUrl", "url"),
        sse_urls=("url",),
        usual=(".gemini/settings.json", "~/.gemini/settings.json"),
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        files=("windsurf/mcp_config.json", "mcp_config.json"),
        urls=("serverUrl", "url"),
        usual=("~/.codeium/windsurf/mcp_config.json",),
    ),
    Client(
        name="vscode",
        title="VS Code",
        files=(".vscode/mcp.json", "User/mcp.json", ".vscode/settings.json", "User/settings.json"),
        paths=(("servers",), ("mcp", "servers")),
        usual=(
            ".vscode/mcp.json",
            ".vscode/settings.json",
            "~/.config/Code/User/mcp.json",
            "~/.config/Code/User/settings.json",
            "~/Library/Application Support/Code/User/mcp.json",
            "~/Library/Application Support/Code/User/settings.json",
        ),
    ),
    Client(
        name="zed",
        title="Zed",
        files=(".zed/settings.json", "zed/settings.json"),
        paths=(("context_servers",),),
        fills_env=False,
        usual=(".zed/settings.json", "~/.config/zed/settings.json"),
    ),
    Client(
        name="codex",
        title="Codex",
        format="toml",
        files=(".codex/config.toml",),
        paths=(("mcp_servers",),),
        headers="http_headers",
        fills_env=False,
        usual=(".codex/config.toml", "~/.codex/config.toml"),
    ),
    Client(
        name="goose",
        title="Goose",
        format="yaml",
        files=("goose/config.yaml",),
        paths=(("extensions",),),
        command="cmd",
        env="envs",
        urls=("uri",),
        fills_env=False,
        usual=("~/.config/goose/config.yaml",),
    ),
)
NAMES = tuple(client.name for client in CLIENTS)


@dataclass(frozen=True, slots=True)
class Servers:
    """One list of servers in a file."""

    path: tuple[str, ...]
    entries: tuple[Member, ...]


def client_named(name: str) -> Client:
    """The client of that name.

    Raises:
        UsageError: there is none.
    """
    for client in CLIENTS:
        if client.name == name:
            return client
    raise UsageError(
        f"no client {name!r} is known.{nearest(name, NAMES)} There are: {', '.join(NAMES)}."
    )


def format_of(path: PurePath, client: Client | None) -> Format:
    """In which format a file is, by its client or its name."""
    if client is not None:
        return client.format
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return "toml"
    return "yaml" if suffix in (".yaml", ".yml") else "jsonc"


def client_of(path: PurePath, document: Document, format: Format) -> Client:
    """Whose file it is: by what it holds, and among those that fit by its name.

    Raises:
        UsageError: it holds servers in no known shape.
    """
    fitting = [c for c in CLIENTS if c.format == format and servers_of(document, c)]
    ending = path.as_posix()
    for client in fitting:
        if any(ending == name or ending.endswith(f"/{name}") for name in client.files):
            return client
    # Its name does not tell; most have the same shape, and two have keys of their own.
    by_name = {client.name: client for client in fitting}
    for name, key in (("gemini", "httpUrl"), ("windsurf", "serverUrl")):
        if name in by_name and _is_used(key, servers_of(document, by_name[name])):
            return by_name[name]
    if fitting:
        return by_name.get("claude-code", fitting[0])
    raise UsageError(_unknown(document))


def servers_of(document: Document, client: Client) -> list[Servers]:
    """The lists of servers that a client would find in a document."""
    found: list[Servers] = []
    for path in client.paths:
        for keys, node in _found(document.root, path, ()):
            if node.kind == "map":
                found.append(Servers(keys, tuple(node.members)))
    return found


def usual_files(folder: Path, home: Path) -> list[tuple[Client, Path]]:
    """Files of known clients that exist: below a folder, and this user's."""
    found: dict[Path, tuple[Client, Path]] = {}
    for client in CLIENTS:
        for usual in client.usual:
            path = home / usual[2:] if usual.startswith("~/") else folder / usual
            if path.is_file():
                found.setdefault(Path(os.path.realpath(path)), (client, path))
    appdata = os.environ.get("APPDATA") if sys.platform == "win32" else None
    if appdata:
        path = Path(appdata) / "Claude" / "claude_desktop_config.json"
        if path.is_file():
            found.setdefault(path, (client_named("claude-desktop"), path))
    return list(found.values())


def _found(
    node: Node, path: Sequence[str], keys: tuple[str, ...]
) -> list[tuple[tuple[str, ...], Node]]:
    if not path:
        return [(keys, node)]
    if path[0] != "*":
        member = node.member(path[0])
        return [] if member is None else _found(member.node, path[1:], (*keys, path[0]))
    return [
        one for member in node.members for one in _found(member.node, path[1:], (*keys, member.key))
    ]


def _is_used(key: str, lists: Sequence[Servers]) -> bool:
    return any(one.node.member(key) for servers in lists for one in servers.entries)


def _unknown(document: Document) -> str:
    found = ", ".join(repr(member.key) for member in document.root.members[:8])
    more = ", …" if len(document.root.members) > 8 else ""
    shapes = {
        ".".join(path): client.title
        for client in reversed(CLIENTS)
        for path in client.paths
        if "*" not in path
    }
    known = ", ".join(f"{path!r} ({title})" for path, title in sorted(shapes.items()))
    what = f"its keys are {found}{more}" if found else f"it is an empty {document.root.kind}"
    if not found and document.root.value:
        what = f"it is a {document.root.kind}"
    for path in shapes:
        if document.root.at(*path.split(".")) is not None:
            what = f"its {path!r} is not a map of servers"
    return f"it has no MCP servers where a known client keeps them: {what}. Known are: {known}."
