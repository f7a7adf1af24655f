"""Writes `docs/reference/bindings.md` from the bindings themselves.

python -m tests.toolkits.bindings_page    write the page
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from agentworld_sim.toolkits.fitting import properties
from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.toolkits.lookup import known_tools
from agentworld_sim.toolkits.usual_names import USUAL_NAMES, UsualNames
from agentworld_sim.types.json import canonical_json

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "bindings.md"

_HEAD = """# Bindings

The well-known tools that are computed, each in its own words. This page is made from the bindings; a
test holds it to them.

A tool binds by itself when its name is listed here and its arguments fit: everything the binding
requires is there, it has no argument that the binding does not know, and the types agree. Where
several bindings fit, the one wins whose types are the same, then the one with the fewest further
arguments, then the one that comes first on this page. A tool that fits none is refused; say
`binds_to` if it is one of these all the same. Arguments that have other names there are mapped, and those
that do not matter are left out by name: `binds_to="terminal/bash(command=cmd, -timeout)"` for a tool
`bash(cmd, timeout)`; `append:=true` gives an argument one value, written as JSON. A `binds_to` under which an
argument would be missing or ignored is an error. For [usual names](#usual-names) this mapping is made.

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

"""

_COMMON = """## common

A clock and a place to think, under usual names.

"""

_USUAL = """## Usual names

A tool of your own (not one of an MCP server) that fits nothing above by its name is bound by the name that such
tools usually have, if each of its arguments has one of the usual names, too. `timeout` (`timeout_s`,
`timeout_seconds`, `timeout_ms`), `description` and `explanation` are left out. What has other arguments is not bound.

| binding | names | arguments |
|---|---|---|
"""

_BROWSER = """## playwright-toolkit

The tools of LangChain's toolkit for Playwright, on pages that are given or imagined. They bind by
themselves outside of MCP servers.

"""

_HTTP = """## http

The calls by which programs outside of a world change it ([guide](../guides/real-browsers.md)); a tool of your own may
be bound to it too.

"""

_PLAYWRIGHT = """## playwright-mcp, playwright-mcp-ref

The tools of `@playwright/mcp` 0.0.83, which name elements by `target`, and of 0.0.68, which name them by `ref`: the
schemas of all tools of a world together decide which are meant. They share the browser of `playwright-toolkit`.
`browser_evaluate`, `browser_run_code` and `browser_take_screenshot` are imagined, or refused where there is no model.

"""

_SEARCH = """## search, tavily, duckduckgo, brave, google-serper, exa, fetch

Tools that search the web and read pages, on the pages of the scenario ([guide](../guides/search-tools.md)). They bind by
themselves where it has some; elsewhere a model may imagine what they answer. `max_results` of
`duckduckgo_results_json`, `max_results` and `include_raw_content` of `tavily/tavily_search` are arguments of the
tool's object, or of a function of your own.

"""

_SHORT_TABLE = """| binding | tool | arguments |
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
- `sqlite/sql_db_query`, `sql_db_schema` and `sql_db_list_tables` are the tools of LangChain's toolkit for SQL, on the
  same database, which is empty at first. The statement that made a table is shown as it was written, not as
  SQLAlchemy would write it.
- `common/now` is ISO 8601 in UTC, on the world's clock. `common/think` says `Thought recorded.`
- `answer/submit_answer` says `Answer submitted.`; a goal `answer:` reads what was handed in.
- Search tools answer as `langchain-tavily` 0.2.18, `langchain-community` 0.4.2, `langchain-exa` 1.1, `tavily-mcp`
  0.2.22, `duckduckgo-mcp-server` 0.7, `@brave/brave-search-mcp-server` 2.1, `exa-mcp-server` 3.4 and `mcp-server-fetch`
  2026.10 write what their services find. Computed: the number of results, `include_domains` and `exclude_domains`,
  `time_range`, `freshness`, first and last days (a page without a date fits none), `topic: news`, `exact_match`,
  `offset`, phrases, `-word` and `site:` in a query. Ignored: country, region and language, depth, pictures, favicons,
  summaries, goggles, crawl dates, and the choice of passages by a query. The whole text of a page is never part of a search
  result: `raw_content` is null, and Exa's `Text` is the snippet.
- A score is that of the rank. A page's `raw` HTML is made from its Markdown. `fetch` reads no `robots.txt`, since no page
  has one. `fetch_content` says `cache=hit` from the second piece of a page on, and search results show no `ref://`.
- `tavily_crawl`, `tavily_map`, `tavily_research`, `expand_link`, the other tools of Brave's and Exa's servers and
  `exa_find_similar_results_json` bind to nothing.
- `langchain/terminal` prints dash's messages, but its shell understands all of bash.
"""


def document() -> str:
    """The whole page, in Markdown."""
    known = known_tools().values()
    parts = [_HEAD, *_ambiguous(known), ""]
    own = [one for one in known if one.engine == "shell"]
    for name, group in groupby(own, key=lambda one: one.toolkit):
        parts += [f"## {name}", "", "| binding | tool | arguments | keeps | domain |"]
        parts.append("|---|---|---|---|---|")
        parts += [_row(one) for one in group]
        parts.append("")
    common = [one for one in known if one.toolkit == "common"]
    servers = [one for one in known if one.engine == "toolkits" and one not in common]
    browser = [one for one in known if one.toolkit == "playwright-toolkit"]
    playwright = [one for one in known if one.toolkit.startswith("playwright-mcp")]
    http = [one for one in known if one.toolkit == "http"]
    search = [one for one in known if one.engine == "search"]
    sections = (
        (_SERVERS, servers),
        (_COMMON, common),
        (_SEARCH, search),
        (_BROWSER, browser),
        (_PLAYWRIGHT, playwright),
        (_HTTP, http),
    )
    for text, tools in sections:
        rows = "\n".join(map(_short_row, tools))
        parts.append(f"{text}{_SHORT_TABLE}{rows}\n")
    parts.append(_USUAL + "".join(map(_usual_row, USUAL_NAMES)))
    return "\n".join([*parts, _TAIL])


def _short_row(tool: KnownTool) -> str:
    return f"| `{tool.id}` | {_called(tool)} | {_arguments(tool.input_schema)} |"


def _usual_row(usual: UsualNames) -> str:
    arguments = [f"`{own}`: {_listed(theirs)}" for own, theirs in usual.arguments.items()]
    arguments += [f"`{own}` is `{value}`" for own, value in usual.constants.items()]
    return f"| `{usual.binding}` | {_listed(usual.names)} | {'; '.join(arguments)} |\n"


def _listed(words: str) -> str:
    return ", ".join(f"`{word}`" for word in words.split())


def _row(tool: KnownTool) -> str:
    arguments = _arguments(tool.input_schema)
    return f"| `{tool.id}` | {_called(tool)} | {arguments} | {tool.keeps} | {tool.domain} |"


def _called(tool: KnownTool) -> str:
    return ", ".join(f"`{name}`" for name in tool.names) or "only by `binds_to`"


def _arguments(schema: Mapping[str, Any]) -> str:
    required = cast("list[str]", schema.get("required", []))
    return ", ".join(
        f"`{name}`" if name in required else f"`{name}`?" for name in properties(schema)
    )


def _ambiguous(known: Iterable[KnownTool]) -> list[str]:
    """Bindings that nothing but their order tells apart."""
    found: list[str] = []
    held: dict[tuple[str, str], list[str]] = {}
    for binding in known:
        for name in binding.names:
            arguments = canonical_json(properties(binding.input_schema))
            held.setdefault((name, arguments), []).append(binding.id)
    for (name, _), identities in held.items():
        if len(identities) > 1:
            listed = ", ".join(f"`{identity}`" for identity in identities)
            found.append(f"- `{name}`: {listed}")
    return found


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
