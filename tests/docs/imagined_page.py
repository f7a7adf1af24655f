"""Writes `docs/reference/imagined-programs.md` from the list of programs.

python -m tests.docs.imagined_page > docs/reference/imagined-programs.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from agentworld_sim.engines.shell.command_question import MANIFESTS
from agentworld_sim.engines.shell.programs import COMMAND_NAMES, COMMON_PROGRAMS

_HEAD = """# Programs that are imagined

What the machine cannot compute is not found, as on a machine without it; with a language world model it is
imagined, on the same files. This page is written by `python -m tests.docs.imagined_page`; a test holds it to
the code. Python, its packages and git are computed where the extra `machine` is installed.

## Their share

Of 41,035 commands of coding agents (SWE-bench and Terminal-Bench runs, developers' sessions on Go, Python and
TypeScript), and of their sessions, those that call at least one of these programs:

| programs | commands | sessions |
|---|---:|---:|"""

SHARES = (
    ("go gofmt golangci-lint", "4.1 %", "12.8 %"),
    ("npm npx yarn node", "0.24 %", "0.9 %"),
    ("gh", "0.24 %", "3.0 %"),
    ("uv poetry", "0.20 %", "0.8 %"),
    ("conda", "0.14 %", "0.6 %"),
    ("docker kubectl", "0.08 %", "1.6 %"),
    ("gcc g++ clang", "0.07 %", "0.9 %"),
    ("ssh ping dig ss rsync", "0.05 %", "0.8 %"),
    ("perl", "0.03 %", ""),
    ("aws systemctl ruby", "less than 0.05 %", ""),
)
"""Programs, and the shares of commands and sessions that call one of them; an empty one was not counted apart."""

UNINSTALLED = COMMON_PROGRAMS.difference(COMMAND_NAMES)


def page() -> str:
    """The page."""
    return "\n".join([_HEAD, *_rows(), ""])


def _rows() -> Iterator[str]:
    for names, commands, sessions in SHARES:
        unknown = set(names.split()) - UNINSTALLED
        assert not unknown, unknown
        yield f"| {', '.join(f'`{name}`' for name in names.split())} | {commands} | {sessions or '-'} |"
    yield "\n## The files that the model is shown\n"
    yield "Besides those that the arguments name, these of the working directory:\n"
    yield "| files | for |"
    yield "|---|---|"
    programs: dict[tuple[str, ...], list[str]] = {}
    for name, files in MANIFESTS.items():
        programs.setdefault(tuple(files), []).append(name)
    for files, names in programs.items():
        yield f"| {', '.join(f'`{one}`' for one in files)} | {', '.join(names)} |"
    yield "\n## All names\n"
    yield "Names that count as programs of the machine when a script looks for them or calls them by a path:\n"
    yield ", ".join(f"`{name}`" for name in sorted(UNINSTALLED)) + "."


if __name__ == "__main__":
    sys.stdout.write(page())
