"""The `mcp` package: whether the installed one is one that the shim works with."""

from __future__ import annotations

import sys
from importlib.metadata import version

from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require

SINCE, BEFORE = (2, 1), (3,)
"""As the extra 'mcp' says."""


def require_sdk() -> None:
    """
    Raises:
        UsageError: the package is missing, or another version was installed in its place.
    """
    require("mcp.server.lowlevel", extra="mcp")
    installed = version("mcp")
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdecimal())
    if SINCE <= numbers < BEFORE:
        return
    raise UsageError(
        f"this environment has mcp {installed}, and agentworld needs mcp>=2.1,<3. Another package of it"
        " asks for that version: langchain-mcp-adapters, for example, for mcp<2. Give agentworld an"
        " environment of its own (`python -m venv ~/agentworld` and `~/agentworld/bin/pip install"
        " 'agentworld-sim[mcp]'`), run `~/agentworld/bin/agentworld mcp …` there, and name the servers'"
        f" interpreter by its whole path: `-- {sys.executable} server.py` for one of this environment."
    )
