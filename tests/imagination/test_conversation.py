"""From turns to messages: the form, the order, and what is left out when it gets long."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from agentworld_sim import Action, Observation, StateChange, ToolCall, Turn
from agentworld_sim.domains import domain
from agentworld_sim.domains.text import fence
from agentworld_sim.engines.call_question import parts_of
from agentworld_sim.imagination.conversation import Conversation, tokens
from agentworld_sim.imagination.prompt_set import escape_markers
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.ports import Part
from agentworld_sim.types import FileEntry

ENOUGH = 10**9


def turn(
    number: int, name: str = "t", *, text: str = "", files: dict[str, int] | None = None
) -> Turn:
    changed = {
        path: FileEntry(kind="file", mode=0o644, mtime_us=0, content="0" * 40, size=size)
        for path, size in (files or {}).items()
    }
    return Turn(
        parent="0" * 40,
        call=ToolCall(name, {"n": number}),
        action=Action(f'{{"n": {number}}}'),
        observation=Observation(text=text or f"answer {number}", provenance="imagined"),
        change=StateChange(clock_us=number, files=changed),
    )


def conversation(
    *turns: Turn, kind: str = "mcp", task: str = "", initial_state: str = ""
) -> Conversation:
    own = domain(kind)
    parts = parts_of(turns, Action('{"n": "now"}'), own, lambda one: one.call.name == "t")
    return Conversation(
        domain=own, system="SYSTEM", parts=parts, task=task, initial_state=initial_state
    )


def test_turns_alternate_oldest_first_in_the_form_the_model_was_trained_on() -> None:
    messages = conversation(turn(1), turn(2)).messages(budget_tokens=ENOUGH)
    assert messages == (
        ChatMessage("system", "SYSTEM"),
        ChatMessage("user", '### Turn 1\n**Action:**\n```json\n{"n": 1}\n```'),
        ChatMessage("assistant", "**Environment Observation:**\nanswer 1"),
        ChatMessage("user", '### Turn 2\n**Action:**\n```json\n{"n": 2}\n```'),
        ChatMessage("assistant", "**Environment Observation:**\nanswer 2"),
        ChatMessage("user", '### Turn 3\n**Action:**\n```json\n{"n": "now"}\n```'),
    )


def test_a_prompt_only_grows_at_its_end() -> None:
    turns = [turn(n) for n in range(1, 8)]
    own = domain("mcp")
    before: tuple[ChatMessage, ...] = ()
    for count, asked in enumerate(turns):
        parts = parts_of(turns[:count], asked.action, own, lambda _: True)
        told = Conversation(domain=own, system="SYSTEM", parts=parts)
        messages = told.messages(budget_tokens=ENOUGH)
        assert messages[: len(before)] == before
        before = messages


def test_a_screen_domain_tells_task_and_state_where_it_was_trained_to() -> None:
    first = conversation(kind="android", task="Turn on wifi", initial_state="HOME SCREEN")
    assert first.messages(budget_tokens=ENOUGH)[-1].content.startswith(
        "### Turn 1\n**Task Instruction:**\nTurn on wifi\n\n**Current State:**\nHOME SCREEN\n\n**Action:**"
    )
    second = conversation(turn(1, text="SETTINGS"), kind="android", task="Turn on wifi")
    asked = second.messages(budget_tokens=ENOUGH)[-1].content
    assert "Task Instruction" not in asked
    assert "**Current State:**\nSETTINGS\n" in asked


def test_a_terminal_tells_its_screen_on_the_first_turn_only() -> None:
    told = conversation(turn(1), kind="terminal", initial_state="root@debian:~# ")
    messages = told.messages(budget_tokens=ENOUGH)
    assert "**Current State:**\nroot@debian:~# \n" in messages[1].content
    assert "Current State" not in messages[3].content


def test_what_other_tools_did_is_told_once_before_the_turn_that_follows() -> None:
    other = turn(2, "shell", text="done\nmore", files={"/srv/report.md": 12})
    messages = conversation(turn(1), other, turn(3)).messages(budget_tokens=ENOUGH)
    assert "Current State" not in messages[1].content
    assert messages[3].content.startswith(
        "### Turn 2\n**Current State:**\nCalls of other tools since the turn before:\n"
        '- {"n": 2} -> done more\nFiles they changed:\n/srv/report.md (12 bytes)\n'
    )
    assert "Current State" not in messages[5].content


def test_a_correction_follows_the_action_it_is_about() -> None:
    messages = conversation(turn(1)).messages(budget_tokens=ENOUGH, correction="it was empty.")
    assert messages[-1].content.endswith(
        "```\n\nAn earlier answer to this turn could not be used: it was empty.\n"
        "Answer the same action again, without that mistake."
    )


@given(
    sizes=st.lists(st.integers(1, 400), max_size=40),
    budget=st.integers(400, 3000),
)
def test_a_long_conversation_keeps_its_latest_turns_and_fits(sizes: list[int], budget: int) -> None:
    turns = [turn(n, text="x" * size) for n, size in enumerate(sizes, 1)]
    messages = conversation(*turns).messages(budget_tokens=budget)
    numbers = [
        int(one.content.split("\n", 1)[0].removeprefix("### Turn "))
        for one in messages
        if one.role == "user"
    ]
    assert numbers == list(range(numbers[0], len(sizes) + 2))
    assert sum(tokens(one.content) for one in messages) <= budget + 50
    cut = numbers[0] > 1
    assert ("Earlier turns, in short:" in messages[1].content) == cut


def test_turns_are_left_out_in_blocks_so_that_most_prompts_begin_like_the_one_before() -> None:
    turns = [turn(n, text="x" * 300) for n in range(1, 101)]
    firsts: list[str] = []
    for count in range(len(turns) + 1):
        messages = conversation(*turns[:count]).messages(budget_tokens=3000)
        firsts.append(messages[1].content)
    kept = sum(a == b for a, b in pairwise(firsts))
    assert kept >= 0.85 * len(turns)


def test_a_cut_screen_conversation_tells_the_screen_it_begins_with() -> None:
    turns = [turn(n, text=f"SCREEN {n} " + "x" * 300) for n in range(1, 30)]
    messages = conversation(*turns, kind="terminal").messages(budget_tokens=1500)
    first = int(messages[1].content.split("\n", 1)[0].removeprefix("### Turn "))
    assert f"**Current State:**\nSCREEN {first - 1} " in messages[1].content


@given(st.text())
def test_no_text_can_end_a_message_or_begin_the_thinking(text: str) -> None:
    for word in ("<|im_end|>", "<|im_start|>", "<think>", "</think>", "<|endoftext|>"):
        assert word not in escape_markers(text + word + text)


@given(st.text())
def test_no_action_can_close_its_fence(text: str) -> None:
    written = fence(text, "json")
    marks = written.split("json", 1)[0]
    inside = written[len(marks) + 5 : -len(marks) - 1]
    assert inside == text
    assert not any(line.strip().startswith(marks) for line in text.split("\n"))


def test_a_text_of_blank_lines_is_fenced_in_time_in_proportion_to_it() -> None:
    blank = "\n" * 1_000_000
    assert fence(blank, "python") == f"```python\n{blank}\n```"


def test_a_part_without_a_fence_is_written_as_it_is() -> None:
    parts = (Part(1, Action("click('a1')"), None, ()),)
    told = Conversation(domain=domain("web"), system="S", parts=parts)
    assert told.messages(budget_tokens=ENOUGH)[-1].content.endswith("**Action:**\nclick('a1')")
