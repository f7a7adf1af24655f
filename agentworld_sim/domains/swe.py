"""Software engineering: the tools of coding agents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from agentworld_sim.domains import Domain
from agentworld_sim.domains.text import json_action, sendable
from agentworld_sim.domains.tool_results import read_result
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

_ERROR = re.compile(r"<tool_use_error>|Error (?:executing|calling) tool ")
"""How coding agents begin the text of a call that failed."""

_EXIT_CODE = re.compile(r"Exit code [1-9]\d*(?:\n|\Z)")
"""How Claude Code begins the result of a command that failed."""

_ERROR_LINE = re.compile(r"Error: .+\Z")
"""How tools that are no shells say that they could not do it. A shell's output may begin so too."""


def write(observation: Observation) -> str:
    """The text as it is; for a picture or document, which file it was."""
    structured: Any = observation.structured
    if not observation.text and isinstance(structured, list):
        return "\n".join(_block_label(block) for block in cast("list[object]", structured))
    return sendable(observation.text)


def read(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """The text as it is; an error only where the text says so in a tool's own way."""
    if tool.output_schema is not None:
        return read_result(text, call, tool)
    text = sendable(text)
    failed = bool(_ERROR.match(text))
    if "command" in call.arguments:
        failed = failed or bool(_EXIT_CODE.match(text))
    else:
        failed = failed or bool(_ERROR_LINE.match(text))
    return Observation(text=text, is_error=failed, provenance="imagined")


def _block_label(block: object) -> str:
    """What stands in a prompt for content that is no text."""
    if isinstance(block, Mapping):
        fields = cast("Mapping[str, Any]", block)
        inner: Any = fields.get("source", fields.get("inlineData", fields))
        if isinstance(inner, Mapping):
            kinds = cast("Mapping[str, Any]", inner)
            for key in ("media_type", "mimeType", "mime_type"):
                if kinds.get(key):
                    return f"[{kinds[key]}]"
        if fields.get("type"):
            return f"[{fields['type']}]"
    return "[content]"


DOMAIN = Domain(
    name="swe",
    action=json_action,
    write=write,
    read=read,
    fence="json",
    toolkits=("claude-code",),
)
