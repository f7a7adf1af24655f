"""Playwright's MCP server, `@playwright/mcp`: the tools of 0.0.83, and those of 0.0.68 that name elements by `ref`.
Beside them the step of BrowserGym, which is Playwright's too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentworld_sim.toolkits.known_tool import (
    STRING,
    KnownTool,
    ToolkitMaker,
    arguments,
    objects,
)
from agentworld_sim.types.tools import ToolSpec

NEWER = "playwright-mcp"
OLDER = "playwright-mcp-ref"
BROWSERGYM = "browsergym"
UNCOMPUTED = frozenset(
    ["browser_evaluate", "browser_run_code", "browser_run_code_unsafe", "browser_take_screenshot"]
)
"""What is imagined or refused: programs and pictures."""

_COMMON: Mapping[str, Any] = {
    "domain": "web",
    "operations": "agentworld_sim.engines.web.playwright_answers",
    "engine": "web",
    "failing": "failing",
    "of_server": True,
}
_newer = ToolkitMaker(toolkit=NEWER, **_COMMON)
_older = ToolkitMaker(toolkit=OLDER, **_COMMON)
_KINDS = "type:textbox,checkbox,radio,combobox,slider"
_LEVEL = "level:error,warning,info,debug"
_SEVERAL = {"type": "object", "additionalProperties": STRING}
_BOTH = (
    ("close", "Closes the browser.", ""),
    ("resize", "Resizes the window.", "width:number height:number"),
    ("handle_dialog", "Answers a dialog.", "accept:boolean promptText?"),
    ("file_upload", "Chooses files.", "paths?:strings"),
    ("press_key", "Presses a key.", "key"),
    ("navigate", "Opens a URL.", "url"),
    ("navigate_back", "Goes back in the history.", ""),
    ("wait_for", "Waits for text or time.", "time?:number text? textGone?"),
    ("type", "Types text into an element.", "element? KEY text submit?:boolean slowly?:boolean"),
    (
        "click",
        "Clicks an element.",
        "element? KEY doubleClick?:boolean button?:left,right,middle modifiers?:strings",
    ),
    ("hover", "Moves the mouse over an element.", "element? KEY"),
    ("select_option", "Selects options.", "element? KEY values:strings"),
)
"""What both generations have, where they differ in the name of one argument at most."""


def _tools_of_both(make: ToolkitMaker, key: str) -> tuple[KnownTool, ...]:
    return tuple(
        make(f"browser_{name}", said, takes.replace("KEY", key)) for name, said, takes in _BOTH
    )


TOOLS: tuple[KnownTool, ...] = (
    *_tools_of_both(_newer, "target"),
    _newer(
        "browser_console_messages",
        "Gives what the console says.",
        f"{_LEVEL} all?:boolean filename?",
    ),
    _newer(
        "browser_emulate_media",
        "Sets what style sheets may ask for.",
        "colorScheme?:string|null reducedMotion?:string|null forcedColors?:string|null"
        " contrast?:string|null media?:string|null",
    ),
    _newer(
        "browser_drop",
        "Drops files or data onto an element.",
        arguments("element? target paths?:strings data?", data=_SEVERAL),
    ),
    _newer("browser_find", "Searches the snapshot.", "text? regex? filename?"),
    _newer(
        "browser_fill_form",
        "Fills several fields.",
        arguments("fields", fields=objects(f"element? target name {_KINDS} value")),
    ),
    _newer("browser_network_requests", "Lists requests.", "static:boolean filter? filename?"),
    _newer(
        "browser_network_request",
        "Gives one request.",
        "index:integer filename? part?:request-headers,request-body,response-headers,response-body",
    ),
    _newer(
        "browser_snapshot",
        "Gives the accessibility tree of the page.",
        "target? filename? depth?:number boxes?:boolean",
    ),
    _newer(
        "browser_drag",
        "Drags one element to another.",
        "startElement? startTarget endElement? endTarget",
    ),
    _newer(
        "browser_tabs",
        "Lists, opens, closes or selects tabs.",
        "action:list,new,close,select index?:number url?",
    ),
)

REF_TOOLS: tuple[KnownTool, ...] = (
    *_tools_of_both(_older, "ref"),
    _older("browser_console_messages", "Gives what the console says.", f"{_LEVEL} filename?"),
    _older(
        "browser_fill_form",
        "Fills several fields.",
        arguments("fields", fields=objects(f"name {_KINDS} ref value")),
    ),
    _older("browser_install", "Installs the browser.", ""),
    _older("browser_network_requests", "Lists requests.", "includeStatic:boolean filename?"),
    _older("browser_snapshot", "Gives the accessibility tree of the page.", "filename?"),
    _older(
        "browser_drag", "Drags one element to another.", "startElement startRef endElement endRef"
    ),
    _older(
        "browser_tabs",
        "Lists, opens, closes or selects tabs.",
        "action:list,new,close,select index?:number",
    ),
)

BROWSERGYM_TOOLS: tuple[KnownTool, ...] = (
    ToolkitMaker(toolkit=BROWSERGYM, domain="web", operations="web", engine="web")(
        "browsergym_step",
        "Does BrowserGym's actions, `click('12')`, and observes the page.",
        "action",
    ),
)


def is_older(tool: ToolSpec) -> bool:
    """Whether a tool's schema is one of those that the older generation alone has."""
    taken = cast("Mapping[str, Any]", tool.input_schema.get("properties", {}))
    is_browser = tool.name.rpartition("__")[2].startswith("browser_")
    return is_browser and bool({"ref", "startRef", "includeStatic"} & set(taken))
