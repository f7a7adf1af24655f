"""The three domains with a screen: web, Android, desktop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentworld_sim.domains import domain
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec

RefusalsOf = Callable[..., dict[str, str]]

PAGE = """### Ran Playwright code
```js
await page.getByRole('button', { name: 'Save' }).click();
```
### Page
- Page URL: http://shop.example/
- Page Title: Shop
### Snapshot
```yaml
- banner [ref=e1]:
  - button "Save [ref=e1]" [ref=e2] [cursor=pointer]
  - text: hello
```"""

SCREEN = """[ 0] | android.widget.ScrollView | res="a:id/list" | bounds=[0,0][1080,2400]
[ 1] | android.widget.TextView | text="two
lines" | bounds=[0,0][1080,200] | clickable"""

PHONE = """**Current Phone State:**
• **App:** Files (com.example.files)
• **Keyboard:** Hidden

Current Clickable UI elements:
1. Button: "OK" """

TABLE = "tag\tname\ttext\tposition\tsize\nlabel\tHome\t\t(1, 2)\t(3, 4)"
TREE = "RootWebArea 'Shop', focused\n\t[12] button 'Save', clickable"


def written(name: DomainName, tool: str, arguments: dict[str, Any]) -> str:
    return domain(name).action(ToolCall(tool, arguments), ToolSpec(name=tool)).text


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        (
            "browser_click",
            {"element": 'the "Save" button', "ref": "e12"},
            'browser_click(element="the \\"Save\\" button", ref="e12")',
        ),
        (
            "mcp__playwright__browser_type",
            {"ref": "e7", "text": "é", "submit": True},
            'browser_type(ref="e7", text="é", submit=true)',
        ),
        (
            "browser_fill_form",
            {"fields": [{"ref": "e1", "value": "a"}]},
            'browser_fill_form(fields=[{"ref": "e1", "value": "a"}])',
        ),
        ("browser_snapshot", {}, "browser_snapshot()"),
        ("click", {"bid": "a12"}, "click('a12')"),
        ("click", {"bid": "a12", "button": "left"}, "click('a12')"),
        ("click", {"button": "right", "bid": "a12"}, "click('a12', button='right')"),
        ("fill", {"value": "it's", "bid": "a12"}, "fill('a12', \"it's\")"),
        ("select_option", {"bid": "a1", "options": ["x"]}, "select_option('a1', ['x'])"),
        ("scroll", {"delta_x": 0, "delta_y": 300}, "scroll(0, 300)"),
        ("noop", {"wait_ms": 1000}, "noop()"),
        ("goto", {"url": "http://a.example"}, "goto('http://a.example')"),
        ("click", {"ref": "e1"}, 'click(ref="e1")'),
        ("browser", {"action": " click('a12') "}, "click('a12')"),
        ("browser", {"action": "reload"}, 'browser(action="reload")'),
    ],
)
def test_a_web_action_is_a_function_call(tool: str, arguments: dict[str, Any], text: str) -> None:
    assert written("web", tool, arguments) == text


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("act", {"action_type": "click", "index": 3}, '{"action_type": "click", "index": 3}'),
        (
            "act",
            {"action": "swipe", "coordinate": [1, 2], "coordinate2": [3, 4]},
            '{"action": "swipe", "coordinate": [1, 2], "coordinate2": [3, 4]}',
        ),
        ("click", {"index": 3}, '{"action_type": "click", "index": 3}'),
        ("mcp__phone__navigate_back", {}, '{"action_type": "navigate_back"}'),
        ("click", {"x": 5, "y": 6}, '{"action": "click", "coordinate": [5, 6]}'),
        ("type", {"text": "é"}, '{"action": "type", "text": "é"}'),
        ("system_button", {"button": "Back"}, '{"action": "system_button", "button": "Back"}'),
    ],
)
def test_an_android_action_is_a_json_object(
    tool: str, arguments: dict[str, Any], text: str
) -> None:
    compact = " ".join(written("android", tool, arguments).split())
    assert (
        compact.replace("{ ", "{").replace(" }", "}").replace("[ ", "[").replace(" ]", "]") == text
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("run", {"code": "import pyautogui\npyautogui.click(1, 2)\n"}, None),
        ("run", {"code": "```python\nx = 1\n```"}, "x = 1"),
        ("run", {"actions": ["x = 1", "y = 2"]}, "x = 1\ny = 2"),
        ("run", {"action": "DONE"}, "DONE"),
        ("run", {"timeout": 5, "command": "pyautogui.press('a')"}, "pyautogui.press('a')"),
        ("click", {"x": 1, "y": 2}, "pyautogui.click(x=1, y=2)"),
        ("computer", {"action": "click", "x": 1}, "computer(action='click', x=1)"),
        ("wait", {}, "wait()"),
    ],
)
def test_a_desktop_action_is_python_code(
    tool: str, arguments: dict[str, Any], text: str | None
) -> None:
    expected = arguments["code"].strip("\n") if text is None else text
    assert written("os", tool, arguments) == expected


def test_playwright_marks_its_errors() -> None:
    web = domain("web")
    text = "### Error\nError: Ref e99 not found in the current page snapshot."
    for tool, is_error in [("browser_click", True), ("click", False)]:
        read = web.read(f"\n{text}\n", ToolCall(tool, {}), ToolSpec(name=tool))
        assert (read.text, read.is_error) == (text, is_error)
    page = web.read(PAGE, ToolCall("browser_click", {}), ToolSpec(name="browser_click"))
    assert (page.text, page.is_error) == (PAGE, False)


def test_whole_states_are_accepted(refusals_of: RefusalsOf) -> None:
    assert refusals_of("web", PAGE, tool="browser_click", earlier=[PAGE]) == {}
    assert refusals_of("web", TREE, tool="click", earlier=[TREE]) == {}
    assert refusals_of("android", SCREEN, earlier=[SCREEN]) == {}
    assert refusals_of("android", PHONE, earlier=[PHONE]) == {}
    assert refusals_of("os", TABLE, earlier=[TABLE]) == {}
    assert refusals_of("web", "Navigated to http://a.example", tool="browser_navigate") == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAGE.removesuffix("```"), "a code fence is not closed"),
        (PAGE.replace("- Page URL: http://shop.example/\n", ""), "no line '- Page URL: …'"),
        (PAGE.replace("[ref=e2]", "[ref=e1]"), "the reference 'e1' stands at two elements"),
    ],
)
def test_a_broken_page_is_refused(text: str, reason: str, refusals_of: RefusalsOf) -> None:
    assert reason in refusals_of("web", text, tool="browser_click")["page-form"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SCREEN.replace("[ 1]", "[ 0]"), "row [0] follows row [0]"),
        (SCREEN.replace("[1080,200]", "[1080]"), "has bounds '[0,0][1080]'"),
        (f"{SCREEN}\n[{'9' * 5000}] | x", "follows row [1]"),
    ],
)
def test_broken_rows_are_refused(text: str, reason: str, refusals_of: RefusalsOf) -> None:
    assert reason in refusals_of("android", text)["element-rows"]


@pytest.mark.parametrize(
    ("name", "tool", "before", "text"),
    [
        ("web", "browser_click", PAGE, TREE),
        ("web", "click", TREE, "The button was clicked."),
        ("android", "act", SCREEN, PHONE),
        ("android", "act", PHONE, '{"elements": []}'),
        ("os", "run", TABLE, "<desktop-frame/>"),
        ("os", "run", TABLE, TABLE.replace("text", "value", 1)),
    ],
)
def test_a_state_keeps_the_form_of_those_before(
    name: DomainName, tool: str, before: str, text: str, refusals_of: RefusalsOf
) -> None:
    refused = refusals_of(name, text, tool=tool, earlier=[before, before])
    assert refused.keys() == {"representation"}
    assert refused["representation"].startswith("the state")


def test_where_forms_have_differed_before_none_is_asked_for(refusals_of: RefusalsOf) -> None:
    assert refusals_of("os", "done", tool="run", earlier=[TABLE, "done"]) == {}
    assert refusals_of("os", "done", tool="run", earlier=["done"]) == {}
    assert refusals_of("os", "failed", tool="run", earlier=[TABLE], is_error=True) == {}
