"""LangChain's tools: `ShellTool`, `ShellToolMiddleware` and the file management toolkit.

Sources: langchain-community, `tools/shell` and `tools/file_management`; langchain 1.4,
`agents/middleware/shell_tool.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.toolkits import _langchain_files as managing
from agentworld_sim.engines.shell.toolkits._answers import (
    failed,
    said,
)
from agentworld_sim.engines.shell.toolkits._dash import in_dash_words
from agentworld_sim.engines.shell.toolkits._langchain_session import (
    in_session,
    without_details,
)
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation


def terminal(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    commands = arguments["commands"]
    script = commands if isinstance(commands, str) else ";".join(commands)
    run = turn.run(script, merge=True)
    return said(in_dash_words(run.stdout, script))


def terminal_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(f"{error}\n")


def session_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    lines = "\n".join(f"[stderr] {line}" for line in error.splitlines())
    return failed(f"{lines}\n\nExit code: 1")


def file_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    # These tools never mark an error as one.
    return said(error)


shell = without_details
shell_session = in_session
read_file = managing.read
write_file = managing.write
list_directory = managing.list_directory
copy_file = managing.copy
move_file = managing.move
file_delete = managing.delete
file_search = managing.search
