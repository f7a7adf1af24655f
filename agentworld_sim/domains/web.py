"""The web: a browser driven by Playwright's MCP tools or by BrowserGym's actions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from agentworld_sim.checks import CheckInput
from agentworld_sim.domains import Domain
from agentworld_sim.domains.screen_forms import SameRepresentation
from agentworld_sim.domains.text import plain_text, sendable
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation

_BUTTON: Mapping[str, Any] = {"button": "left"}
_POINT = ("x", "y")

BROWSERGYM: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]] = {
    "noop": ((), {"wait_ms": 1000}),
    "mouse_move": (_POINT, {}),
    "mouse_click": (_POINT, _BUTTON),
    "mouse_dblclick": (_POINT, _BUTTON),
    "mouse_down": (_POINT, _BUTTON),
    "mouse_up": (_POINT, _BUTTON),
    "scroll": (("delta_x", "delta_y"), {}),
    "click": (("bid",), {"button": "left", "modifiers": []}),
    "keyboard_press": (("key",), {}),
    "keyboard_type": (("text",), {}),
    "fill": (("bid", "value"), {"enable_autocomplete_menu": False}),
    "hover": (("bid",), {}),
    "tab_focus": (("index",), {}),
    "new_tab": ((), {}),
    "go_back": ((), {}),
    "go_forward": ((), {}),
    "goto": (("url",), {}),
    "tab_close": ((), {}),
    "select_option": (("bid", "options"), {}),
    "send_msg_to_user": (("text",), {}),
    "report_infeasible": (("reason",), {}),
}
"""BrowserGym's actions in the model's prompt: required parameters in order, and defaults."""

_WRITTEN_CALL = re.compile(r"\s*[A-Za-z_]\w*\(.*\)\s*", re.DOTALL)
_SNAPSHOT = re.compile(r"(?ms)^### Snapshot\s*\n(?P<body>.*?)(?=^### |\Z)")
_REF = re.compile(r"(?m)^[ \t]*- .*?\[ref=(\w+)\]")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*+"?')
"""Up to the line's end where it is not closed: to look again behind every quote would take time
quadratic in the line's length."""


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """A function call: Playwright's with named arguments, BrowserGym's with plain ones."""
    name = _short(call.name)
    arguments = call.arguments
    if len(arguments) == 1:
        (value,) = arguments.values()
        # A tool that takes the whole action as text.
        if name not in BROWSERGYM and isinstance(value, str) and _WRITTEN_CALL.fullmatch(value):
            return Action(sendable(value.strip()))
    known = BROWSERGYM.get(name)
    if known is not None and all(one in arguments for one in known[0]):
        return Action(sendable(_browsergym(name, arguments, *known)))
    named = (f"{key}={json.dumps(one, ensure_ascii=False)}" for key, one in arguments.items())
    return Action(sendable(f"{name}({', '.join(named)})"))


def _browsergym(
    name: str, arguments: Mapping[str, Any], required: tuple[str, ...], defaults: Mapping[str, Any]
) -> str:
    plain = [repr(arguments[one]) for one in required]
    others = [
        f"{key}={value!r}"
        for key, value in arguments.items()
        if key not in required and not (key in defaults and defaults[key] == value)
    ]
    return f"{name}({', '.join(plain + others)})"


def _short(name: str) -> str:
    """A tool's name without the server's that clients put before it."""
    return name.rpartition("__")[2] or name


def read(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """The state as it is; Playwright's section `### Error` marks an error."""
    text = sendable(text).strip("\n")
    failed = _short(call.name) not in BROWSERGYM and text.startswith("### Error\n")
    return Observation(text=text, is_error=failed, provenance="imagined")


class PageForm:
    """The parts of a Playwright answer are whole: closed fences, a page's address, unique refs."""

    name = "page-form"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        text = given.observation.text
        if not text.startswith("### "):
            return None
        if len(re.findall(r"(?m)^```", text)) % 2:
            return "a code fence is not closed; the state breaks off"
        page = re.search(r"(?ms)^### Page(?: state)?\s*\n(.*?)(?=^### |\Z)", text)
        if page is not None and "- Page URL:" not in page[1]:
            return "the section ### Page has no line '- Page URL: …'"
        snapshot = _SNAPSHOT.search(text)
        # Quoted names of elements may contain anything.
        refs = Counter(_REF.findall(_QUOTED.sub('""', snapshot["body"])) if snapshot else ())
        twice = [ref for ref, count in refs.items() if count > 1]
        if twice:
            return f"the reference {twice[0]!r} stands at two elements of the snapshot"
        return None


def _family(name: str) -> str:
    short = _short(name)
    return "BrowserGym" if short in BROWSERGYM else short


DOMAIN = Domain(
    name="web",
    action=action,
    write=plain_text,
    is_screen=True,
    tells_task=True,
    read=read,
    # The state before a later action is the observation before it; it is not told twice.
    state="first",
    checks=(PageForm(), SameRepresentation(_family)),
)
