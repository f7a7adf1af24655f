"""The reference page of bindings, made from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, cast

from agentworld_sim.engines.shell._bindings import Binding, bindings
from agentworld_sim.engines.toolkits import ServerTool, server_tools
from agentworld_sim.types.json import canonical_json

_HEAD = """# Bindings

The well-known tools that are computed, each in its own words. This page is made from the bindings; a
test holds it to them.

A tool binds by itself when its name is listed here and its arguments fit: everything the binding
requires is there, it has no argument that the binding does not know, and the types agree. Where
several bindings fit, the one wins whose types are the same, then the one with the fewest further
arguments, then the one that comes first on this page. A tool that fits none is refused; say
`binds_to` in the scenario if it is one of these all the same.

*Keeps* is what the tool's shell remembers between two calls: nothing, the working directory (`cwd`),
or all of it (working directory, variables, functions, options, traps). Files are always kept.

A tool of an MCP server binds under its plain name and as `SERVER__TOOL`, as the tools of several
servers are shown.

Some tools of different makers have one name and the same arguments of the same types. Without
`binds_to` the first is meant:
"""

_SERVERS = """## memory, sqlite, time

MCP servers whose state is no file: it is kept in the world, apart for each `SERVER__`. Their tools bind
by themselves only in the domain `mcp`; elsewhere `binds_to` says so.

| binding | tool | arguments |
|---|---|---|
"""

_TAIL = """## Where an answer differs from the real tool's

- Patterns of `Grep` and `search_file_content` are matched by ripgrep's own engine, in time that grows
  with the text only: no pattern can hang a world. `.gitignore` files are respected where the real tool
  respects them; `.geminiignore`, `.ignore` and global ignore files are not read.
- Pictures, sounds, videos and documents come as the tool's content block in the structured content;
  the text is empty.
- `claude-code/Bash` runs a background command to its end at once. Its working directory goes back to
  the machine's when a command leaves it, as in the real tool. `Read` adds no reminders for the model.
- `deepagents` tools answer as on a sandbox. What its middleware does with large results happens in the
  middleware, not here.
- `gemini-cli` and `qwen-code` tools have one workspace: the machine's working directory. Their
  attempts to repair an edit with the help of a model are left out.
- `filesystem` tools are those of `@modelcontextprotocol/server-filesystem` 2026.8. Where they may work
  is the scenario's `machine.allowed_directories`; without them, the working directory and then all of
  the machine, as if the server had been started with both. A file has one time, which is shown as all
  three. Names that are not Latin are sorted by code point in `list_directory_with_sizes`.
- `memory` tools are those of `@modelcontextprotocol/server-memory` 2026.8, `time` tools those of
  `mcp-server-time` 2026.10 on the world's clock.
- `sqlite` tools are those of `mcp-server-sqlite` 2025.4. `now`, `random()` and `sqlite_version()` are
  the world's. A query is refused as one that cannot be computed when it names another database file,
  needs an extension or a virtual table, asks by `PRAGMA` for what only a file has, runs `ANALYZE`, or
  takes more than 20 million steps, 4 million characters of answer or 32 MiB of database.
- `langchain/terminal` prints dash's messages, but its shell understands all of bash.
"""


def document() -> str:
    """The whole page, in Markdown."""
    known = bindings()
    parts = [_HEAD, *_ambiguous(known.values()), ""]
    for name, group in groupby(known.values(), key=lambda one: one.id.partition("/")[0]):
        parts += [f"## {name}", "", "| binding | tool | arguments | keeps | domain |"]
        parts.append("|---|---|---|---|---|")
        parts += [_row(one) for one in group]
        parts.append("")
    rows = "\n".join(map(_server_row, server_tools().values()))
    return "\n".join([*parts, f"{_SERVERS}{rows}\n", _TAIL])


def _server_row(tool: ServerTool) -> str:
    return f"| `{tool.id}` | `{tool.name}` | {_arguments(tool.input_schema)} |"


def _row(binding: Binding) -> str:
    names = ", ".join(f"`{name}`" for name in binding.names) or "only by `binds_to`"
    arguments = _arguments(binding.input_schema)
    return f"| `{binding.id}` | {names} | {arguments} | {binding.keeps} | {binding.domain} |"


def _arguments(schema: Mapping[str, Any]) -> str:
    required = cast("list[str]", schema.get("required", []))
    return ", ".join(
        f"`{name}`" if name in required else f"`{name}`?" for name in _properties(schema)
    )


def _ambiguous(known: Iterable[Binding]) -> list[str]:
    """Bindings that nothing but their order tells apart."""
    found: list[str] = []
    held: dict[tuple[str, str], list[str]] = {}
    for binding in known:
        for name in binding.names:
            arguments = canonical_json(_properties(binding.input_schema))
            held.setdefault((name, arguments), []).append(binding.id)
    for (name, _), identities in held.items():
        if len(identities) > 1:
            listed = ", ".join(f"`{identity}`" for identity in identities)
            found.append(f"- `{name}`: {listed}")
    return found


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", schema.get("properties", {}))
