"""Commands written here because the embedded shell's own differ from a plain Debian machine's.

Each module holds the commands of one kind and names them in a `COMMANDS` mapping.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command

COMMANDS: Mapping[str, Command] = {}
