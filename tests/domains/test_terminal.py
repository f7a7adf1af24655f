"""Keystrokes in, a screen out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.domains import domain
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

TERMINAL = domain("terminal")
TOOL = ToolSpec(name="keystrokes")
PROMPT = "root@box:/srv# "
RefusalsOf = Callable[..., dict[str, str]]


def typed(*keystrokes: str) -> dict[str, Any]:
    return {"keystrokes": [{"keystrokes": one, "duration": 0.1} for one in keystrokes]}


def read(text: str, arguments: dict[str, Any] | None = None) -> str:
    return TERMINAL.read(text, ToolCall("keystrokes", arguments or typed("ls\n")), TOOL).text


def test_an_action_is_indented_as_in_the_model_s_examples() -> None:
    written = TERMINAL.action(ToolCall("keystrokes", typed("ls\n")), TOOL)
    assert written.text == ('[\n  {\n    "keystrokes": "ls\\n",\n    "duration": 0.1\n  }\n]')
    assert TERMINAL.action(ToolCall("keystrokes", {"keystrokes": []}), TOOL).text == "[]"


def test_the_prompt_keeps_its_space_and_the_first_line_its_indentation() -> None:
    screen = f"   indented\n{PROMPT}"
    assert read(screen) == screen
    assert read(f"{screen}\n\n") == screen


def test_a_long_answer_scrolls_as_a_screen_does() -> None:
    lines = [f"line {number}" for number in range(60)]
    assert read("\n".join(lines)) == "\n".join(lines[-40:])


def test_colours_and_carriage_returns_are_not_on_a_screen() -> None:
    assert read("\x1b[01;34mdir\x1b[0m\r\n\x1b]0;title\x07\x1b(Bfile") == "dir\nfile"


@given(st.lists(st.text(alphabet=st.characters(min_codepoint=32)), min_size=1, max_size=60))
def test_a_screen_that_was_read_is_written_and_read_again_the_same(lines: list[str]) -> None:
    screen = read("\n".join(lines))
    assert screen.count("\n") < 40
    assert read(TERMINAL.write(Observation(text=screen))) == screen


@pytest.mark.parametrize(
    ("screen", "output"),
    [
        (f"{PROMPT}ls\na  b\n{PROMPT}", "a  b"),
        (f"{PROMPT}ls\na  b\n{PROMPT.strip()}", "a  b"),
        (f"{PROMPT}ls\n{PROMPT}", ""),
        ("a  b", "a  b"),
        ("$ ls\na  b", "a  b"),
        ("a  b\nroot@box: hello", "a  b\nroot@box: hello"),
        ("mail from me@box: # 1", ""),
        ("", ""),
    ],
)
def test_a_tool_that_takes_a_command_gets_its_output_without_prompts(
    screen: str, output: str
) -> None:
    if screen.startswith("mail"):
        # One line that ends like a prompt is no prompt unless it begins like one.
        output = screen
    assert read(screen, {"command": "ls"}) == output


def test_a_command_of_several_lines_is_echoed_line_by_line() -> None:
    screen = f"{PROMPT}for i in 1\n> do echo $i\n> done\n1\n{PROMPT}"
    assert read(screen, {"command": "for i in 1\ndo echo $i\ndone"}) == "1"


def test_a_screen_has_forty_lines_of_characters(refusals_of: RefusalsOf) -> None:
    keys = typed("ls\n")
    assert "the answer 41" in refusals_of("terminal", "a\n" * 40, keys)["terminal-screen"]
    assert r"'\x1b'" in refusals_of("terminal", "a\x1bb", keys)["terminal-screen"]
    assert r"'\r'" in refusals_of("terminal", "a\rb", keys)["terminal-screen"]
    assert refusals_of("terminal", "\n".join("a" * 40) + "\t", keys) == {}
    assert refusals_of("terminal", "a\n" * 100, {"command": "ls"}) == {}


def test_a_plain_command_typed_at_a_prompt_stands_on_the_screen(refusals_of: RefusalsOf) -> None:
    earlier = [(f"hello\n{PROMPT}", typed("echo hello\n"))]

    def refused(text: str, keys: str) -> bool:
        return bool(refusals_of("terminal", text, typed(keys), earlier=earlier))

    assert refused("a  b", "ls -l\n")
    assert refused("", "cd /tmp\n")
    for text, keys in [
        (f"{PROMPT}ls -l\na  b\n{PROMPT}", "ls -l\n"),
        (f"a  b\n{PROMPT}", "ls -l\n"),
        ("root@box:/srv# ls -l", "ls -l\n"),
        ("\n".join("x" * 40), "ls -l\n"),
        ("~\n~\n", "vim a\n"),
        ("(END)", "git log\n"),
        ("", "clear\n"),
        ("x", "ls; clear\n"),
        ("x", "ls"),
        ("x", "C-c"),
    ]:
        assert not refused(text, keys), (text, keys)


def test_nothing_is_missed_where_no_prompt_was_shown_before(refusals_of: RefusalsOf) -> None:
    assert refusals_of("terminal", "a  b", typed("ls\n")) == {}
    assert refusals_of("terminal", "a", typed("ls\n"), earlier=[(">>> ", typed("python3\n"))]) == {}
    assert refusals_of("terminal", "a", typed("ls\n"), earlier=[(PROMPT, {"command": "x"})]) == {}


@given(keys=st.recursive(st.none() | st.text(), lambda one: st.lists(one) | st.just({"a": 1})))
def test_odd_keystrokes_are_no_reason_to_fail(keys: object) -> None:
    TERMINAL.action(ToolCall("keystrokes", {"keystrokes": keys}), TOOL)
    read("x", {"keystrokes": keys})
