"""The desktop: Python code in, the accessibility tree out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from agentworld_sim.domains import Domain
from agentworld_sim.domains.screen_forms import SameRepresentation
from agentworld_sim.domains.text import plain_text, read_screen, sendable
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action

_CODE_ARGUMENTS = ("code", "python_code", "python", "script", "actions", "action", "command")
_FENCE = re.compile(r"\s*```(?:python|py)?[ \t]*\n(?P<code>.*?)\n?```\s*", re.DOTALL)
_PYAUTOGUI = frozenset(
    "click doubleClick dragTo hotkey keyDown keyUp middleClick mouseDown mouseUp moveTo press"
    " rightClick scroll tripleClick typewrite write".split()
)


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """The code that runs; for a tool without code, the function call that it is."""
    return Action(sendable(_code(call.arguments) or _call(call)))


def _code(arguments: Mapping[str, Any]) -> str:
    for name in _CODE_ARGUMENTS:
        value: Any = arguments.get(name)
        if isinstance(value, list):
            lines = cast("list[Any]", value)
            value = "\n".join(lines) if all(isinstance(one, str) for one in lines) else None
        # Beside other arguments, `action="click"` is a choice and no code.
        if isinstance(value, str) and value.strip() and (len(arguments) == 1 or _is_code(value)):
            fenced = _FENCE.fullmatch(value)
            return (fenced["code"] if fenced else value).strip("\n")
    return ""


def _is_code(text: str) -> bool:
    return bool(re.search(r"[(=\n]", text))


def _call(call: ToolCall) -> str:
    name = call.name.rpartition("__")[2] or call.name
    if name in _PYAUTOGUI:
        name = f"pyautogui.{name}"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in call.arguments.items())})"


DOMAIN = Domain(
    name="os",
    action=action,
    write=plain_text,
    read=read_screen,
    fence="python",
    is_screen=True,
    tells_task=True,
    # The state before a later action is the observation before it; it is not told twice.
    state="first",
    checks=(SameRepresentation(),),
)
