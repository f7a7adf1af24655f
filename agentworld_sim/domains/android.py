"""Android: one JSON action at a time, a screen of elements out."""

from __future__ import annotations

import re
from typing import Any, Literal

from agentworld_sim.checks import CheckInput
from agentworld_sim.domains import Domain
from agentworld_sim.domains.screen_forms import ROW, SameRepresentation
from agentworld_sim.domains.text import action_json, plain_text, read_screen
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action

_ACTIONS_BY_INDEX = frozenset(
    "click double_tap long_press input_text scroll open_app navigate_back navigate_home"
    " keyboard_enter wait status answer".split()
)
_BOUNDS = re.compile(r"\| bounds=(?P<bounds>[^|\n]*)")
_BOX = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """The action as a JSON object; a tool per action is named by its key."""
    arguments = dict(call.arguments)
    if "action_type" in arguments or "action" in arguments:
        return Action(action_json(arguments))
    if "x" in arguments and "y" in arguments and "coordinate" not in arguments:
        arguments["coordinate"] = [arguments.pop("x"), arguments.pop("y")]
    name = call.name.rpartition("__")[2] or call.name
    by_index = "coordinate" not in arguments and name in _ACTIONS_BY_INDEX
    value: dict[str, Any] = {"action_type" if by_index else "action": name}
    return Action(action_json(value | arguments))


class ElementRows:
    """Rows of elements count up and have boxes; other forms of a screen are not judged."""

    name = "element-rows"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        lines = given.observation.text.split("\n")
        if not ROW.match(lines[0]):
            return None
        last = -1
        for line in lines:
            row = ROW.match(line)
            # A text with a line break continues its row on the next line.
            if row is not None:
                if len(row["index"]) > 6 or int(row["index"]) <= last:
                    return (
                        f"row [{row['index'][:9]}] follows row [{last}]; count the rows up from 0"
                    )
                last = int(row["index"])
            bounds = _BOUNDS.search(line)
            if bounds and not _BOX.match(bounds["bounds"].strip()):
                return (
                    f"row [{last}] has bounds {bounds['bounds'].strip()[:40]!r}; write"
                    " bounds=[left,top][right,bottom]"
                )
        return None


DOMAIN = Domain(
    name="android",
    action=action,
    write=plain_text,
    read=read_screen,
    fence="json",
    state="always",
    is_screen=True,
    tells_task=True,
    checks=(ElementRows(), SameRepresentation()),
)
