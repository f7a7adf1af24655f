"""What the real servers answered, and the same calls in a world."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim import Observation, Scenario, ToolSpec
from tests.data.servers.calls import LINKS, ROOT
from tests.data.servers.record import file_entries, steady

RECORDINGS = Path(__file__).resolve().parents[2] / "data" / "servers"


def recording(name: str) -> Mapping[str, Any]:
    """The recording of one server."""
    return json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))


def mirrored(name: str, prefix: str = "") -> list[ToolSpec]:
    """The real server's tools as a mirror gives them to a world."""
    return [
        ToolSpec(
            name=prefix + tool["name"],
            input_schema=tool["inputSchema"],
            output_schema=tool.get("outputSchema"),
            domain="mcp",
        )
        for tool in recording(name)["tools"]
    ]


def scenario(name: str, **settings: Any) -> Scenario:
    """What the real server worked on when it was recorded."""
    content: dict[str, Any] = {"name": f"recorded-{name}", "domains": ["mcp"], **settings}
    if name == "filesystem":
        files: dict[str, Any] = {
            path: {"directory": True} if entry is None else entry
            for path, entry in file_entries().items()
        }
        content["files"] = files | {f"{ROOT}/{path}": {"link": at} for path, at in LINKS.items()}
        content["machine"] = {"workdir": ROOT, "allowed_directories": [ROOT]}
    return Scenario.model_validate(content)


def answer(observation: Observation) -> dict[str, Any]:
    """An observation as a recording has it."""
    blocks = list(observation.content) or [{"type": "text", "text": observation.text}]
    kept: dict[str, Any] = {"content": steady(blocks)}
    if observation.structured is not None:
        kept["structured"] = steady(observation.structured)
    if observation.is_error:
        kept["is_error"] = True
    return kept


def recorded_answer(call: Mapping[str, Any]) -> dict[str, Any]:
    """What the real server answered."""
    return {key: call[key] for key in ("content", "structured", "is_error") if key in call}
