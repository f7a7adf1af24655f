"""The clients whose configuration files are known: how to tell them, and what they call things."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, cast

from agentworld_mcp_shim.wrapping._config_text import ConfigText, Format
from agentworld_sim.errors import UsageError, nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client's kind of file."""

    name: str
    """For `--client`."""
    title: str
    format: Format = "jsonc"
    paths: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    """Where its servers are, as paths of keys; `*` is any key."""
    usual: tuple[str, ...] = ()
    """Where its file usually is: `~` is the home folder, the rest is below the current one."""
    command: str = "command"
    env: str = "env"
    urls: tuple[str, ...] = ("url",)
    headers: str = "headers"
    sse_urls: tuple[str, ...] = ()
    """Of `urls`, those that mean the older SSE transport unless `type` says otherwise."""
    stdio_type: str = "stdio"
    """The `type` of entries that start a command."""
    command_list: bool = False
    """Whether `command` is a list that holds the arguments too."""
    fills_env: bool = True
    """Whether it fills in placeholders in `env`."""


CLIENTS = (
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        usual=(
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        fills_env=False,
    ),
    Client(
        name="claude-code",
        title="Claude Code",
        paths=(("mcpServers",), ("projects", "*", "mcpServers")),
        usual=(".mcp.json", "~/.claude.json"),
    ),
    Client(
        name="cursor",
        title="Cursor",
        usual=(".cursor/mcp.json", "~/.cursor/mcp.json"),
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        urls=("httpUrl", "url"),
        sse_urls=("url",),
        usual=(".gemini/settings.json", "~/.gemini/settings.json"),
    ),
    Client(
        name="qwen",
        title="Qwen Code",
        urls=("httpUrl", "url"),
        sse_urls=("url",),
        usual=(".qwen/settings.json", "~/.qwen/settings.json"),
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        urls=("serverUrl", "url"),
        usual=("~/.codeium/windsurf/mcp_config.json",),
    ),
    Client(
        name="vscode",
        title="VS Code",
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
        name="opencode",
        title="OpenCode",
        paths=(("mcp",),),
        env="environment",
        stdio_type="local",
        command_list=True,
        usual=(
            "opencode.json",
            "opencode.jsonc",
            "~/.config/opencode/opencode.json",
            "~/.config/opencode/opencode.jsonc",
        ),
    ),
    Client(
        name="zed",
        title="Zed",
        paths=(("context_servers",),),
        fills_env=False,
        usual=(".zed/settings.json", "~/.config/zed/settings.json"),
    ),
    Client(
        name="codex",
        title="Codex",
        format="toml",
        paths=(("mcp_servers",),),
        headers="http_headers",
        fills_env=False,
        usual=(".codex/config.toml", "~/.codex/config.toml"),
    ),
    Client(
        name="goose",
        title="Goose",
        format="yaml",
        paths=(("extensions",),),
        command="cmd",
        env="envs",
        urls=("uri",),
        fills_env=False,
        usual=("~/.config/goose/config.yaml",),
    ),
)
_SHARED_NAMES = {"config.toml", "config.yaml", "mcp.json", "settings.json"}
NAMES = tuple(client.name for client in CLIENTS)


def client_named(name: str) -> Client:
    """The client of that name. Raises `UsageError` when there is none."""
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
    suffixes: dict[str, Format] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
    return suffixes.get(path.suffix.lower(), "jsonc")


def client_of(path: PurePath, config: ConfigText) -> Client:
    """Whose file it is: by what it holds, and among those that fit by its name."""
    fitting = [c for c in CLIENTS if c.format == config.format and server_lists(config, c)]
    for client in fitting:
        # `mcp.json` is many clients' file, `.cursor/mcp.json` is one's.
        parts = {PurePath(usual).parts[-2:] for usual in client.usual}
        names = {one[-1] for one in parts} - _SHARED_NAMES
        if path.parts[-2:] in parts or path.name in names:
            return client
    # Its name does not tell; most have the same shape, and some have keys of their own.
    for client in fitting:
        own = {*client.urls} - {"url"}
        entries = [
            config.at((*path, name))
            for path in server_lists(config, client)
            for name in config.at(path)
        ]
        if any(isinstance(entry, dict) and own & entry.keys() for entry in entries):
            return client
    by_name = {client.name: client for client in fitting}
    if fitting:
        return by_name.get("claude-code", fitting[0])
    raise UsageError(_no_servers(config))


def server_lists(config: ConfigText, client: Client) -> list[tuple[str, ...]]:
    """The paths of the lists of servers that a client would find in a file."""
    paths: list[tuple[str, ...]] = []
    for path in client.paths:
        if "*" not in path:
            paths.append(path)
            continue
        above = path[: path.index("*")]
        folders = config.at(above)
        keys = cast("dict[str, Any]", folders) if isinstance(folders, dict) else {}
        paths += [(*above, key, *path[len(above) + 1 :]) for key in keys]
    return [path for path in paths if isinstance(config.at(path), dict)]


def usual_files(folder: Path, home: Path) -> list[tuple[Client, Path]]:
    """Files of known clients that exist: below a folder, and this user's."""
    found: dict[Path, tuple[Client, Path]] = {}
    for client in CLIENTS:
        for usual in client.usual:
            path = home / usual[2:] if usual.startswith("~/") else folder / usual
            if path.is_file():
                found.setdefault(Path(os.path.realpath(path)), (client, path))
    return list(found.values())


def _no_servers(config: ConfigText) -> str:
    value: Any = config.value
    keys = [repr(key) for key in cast("dict[str, Any]", value)] if isinstance(value, dict) else []
    what = f"its keys are {', '.join(keys[:8])}" if keys else "it is empty or no map of keys"
    shapes = {
        ".".join(path): client.title
        for client in reversed(CLIENTS)
        for path in client.paths
        if "*" not in path
    }
    for path in shapes:
        if config.at(tuple(path.split("."))) is not None:
            what = f"its {path!r} is not a map of servers"
    known = ", ".join(f"{path!r} ({title})" for path, title in sorted(shapes.items()))
    return f"it has no MCP servers where a known client keeps them: {what}. Known are: {known}."
