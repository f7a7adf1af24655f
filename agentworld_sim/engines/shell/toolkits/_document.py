"""The reference page of bindings, made from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, cast

from agentworld_sim.engines.shell._bindings import Binding, bindings
from agentworld_sim.tools import canonical_json

_HEAD = """# Bindings

The tools that the shell engine answers, each in its own words. This page is made from the bindings; a
test holds it to them.

A tool binds by itself when its name is listed here and its arguments fit: everything the binding
requires is there, it has no argument that the binding does not know, and the types agree. Where
several bindings fit, the one wins whose types are the same, then the one with the fewest further
arguments, then the one that comes first on this page. A tool that fits none is refused; say
`binds_to` in the scenario if it is one of these all the same.

*Keeps* is what the tool's shell remembers between two calls: nothing, the working directory (`cwd`),
or all of it (working directory, variables, functions, options, traps). Files are always kept.

Some tools of different makers have one name and the same arguments of the same types. Without
`binds_to` the first is meant:
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
    return "\n".join([*parts, _TAIL])


def _row(binding: Binding) -> str:
    names = ", ".join(f"`{name}`" for name in binding.names) or "only by `binds_to`"
    schema = binding.input_schema
    required = cast("list[str]", schema.get("required", []))
    arguments = ", ".join(
        f"`{name}`" if name in required else f"`{name}`?" for name in _properties(schema)
    )
    return f"| `{binding.id}` | {names} | {arguments} | {binding.keeps} | {binding.domain} |"


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
