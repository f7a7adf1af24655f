"""Scenarios and policies of these tests."""

from __future__ import annotations

from agentworld_sim import Scenario, ToolCall
from agentworld_sim.rollouts import write_call

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}


def scenario(**fields: object) -> Scenario:
    """A machine with a file of five lines, whose number is to be written to another file."""
    return Scenario.model_validate(
        {
            "name": "count",
            "instruction": "Write the number of lines of /srv/a.txt to /srv/out.txt.",
            "domains": ("terminal",),
            "tools": [
                {
                    "name": "run",
                    "description": "Runs a command.",
                    "input_schema": SCHEMA,
                    "binds_to": "shell/run",
                }
            ],
            "files": {"/srv/a.txt": "1\n2\n3\n4\n5\n"},
            "goals": [
                {"file": "/srv/out.txt", "contains": "5"},
                {"command": "wc -l < /srv/out.txt", "stdout_equals": "1\n"},
            ],
            **fields,
        }
    )


def run(command: str) -> str:
    """A turn that calls the tool."""
    return write_call(ToolCall("run", {"command": command}))


COUNTS = run("wc -l < /srv/a.txt > /srv/out.txt")
"""Meets all goals."""
