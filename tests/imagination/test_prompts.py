"""What the model is told about its part."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import assume, given, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.prompt_set import TAG, TAG_INSTRUCTION, PromptSet, tool_definitions
from agentworld_sim.types.tools import DomainName, ToolSpec

DOMAINS: tuple[DomainName, ...] = get_args(DomainName)
WITH_TOOLS: tuple[DomainName, ...] = ("mcp", "search", "swe")
PLACEHOLDERS = ("{tool_definitions}", "{demonstrations}")

READ = ToolSpec(name="read", description="Reads a note.", output_schema={"type": "object"})
ADD = ToolSpec(
    name="add",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}, "at": {}}},
)


def folder_of(tmp_path: Path, **templates: str) -> Path:
    for name, template in templates.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "system_prompt.txt").write_text(template, "utf-8")
    return tmp_path


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_has_a_prompt_without_open_places(domain: DomainName) -> None:
    text = PromptSet.default().system(domain)
    assert text.startswith("# ")
    assert not any(placeholder in text for placeholder in PLACEHOLDERS)
    assert "\n\n\n" not in text
    assert text == text.strip()


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_parts_stand_in_the_order_of_training(domain: DomainName) -> None:
    text = PromptSet.default().system(
        domain,
        tools=[ADD],
        initial_state="what there is",
        demonstrations="how it went",
        instruction="what to do",
    )
    headings = (
        "# Role and Task",
        *(["# Tools"] if domain in WITH_TOOLS else []),
        "# Initial State\n\nwhat there is",
        "# Demonstrations\n\nhow it went",
        "# Simulation Instruction\n\nwhat to do",
    )
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)


@pytest.mark.parametrize("domain", DOMAINS)
def test_parts_that_are_empty_have_no_heading(domain: DomainName) -> None:
    text = PromptSet.default().system(domain, initial_state=" \n", demonstrations="")
    for heading in ("# Initial State", "# Demonstrations", "# Simulation Instruction"):
        assert heading not in text


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_shipped_prompt_names_the_tag_itself(domain: DomainName) -> None:
    text = PromptSet.default().system(domain, instruction="x")
    assert f"<{TAG}> and </{TAG}>" in text
    assert TAG_INSTRUCTION not in text


@pytest.mark.parametrize("domain", WITH_TOOLS)
def test_the_tools_are_told_where_the_prompt_has_a_place_for_them(domain: DomainName) -> None:
    text = PromptSet.default().system(domain, tools=[READ, ADD])
    assert text.count(tool_definitions([READ, ADD])) == 1


def test_tools_are_told_as_json_with_their_schemas() -> None:
    assert json.loads(tool_definitions([READ, ADD])) == [
        {"name": "add", "description": "", "parameters": dict(ADD.input_schema)},
        {
            "name": "read",
            "description": "Reads a note.",
            "parameters": {"type": "object", "properties": {}},
            "output_schema": {"type": "object"},
        },
    ]


def test_equal_tools_give_equal_bytes_in_whatever_order_they_come() -> None:
    turned = ToolSpec(
        name="add",
        input_schema={"properties": {"at": {}, "text": {"type": "string"}}, "type": "object"},
    )
    tools = [READ, turned]
    random.shuffle(tools)
    assert tool_definitions(tools) == tool_definitions([ADD, READ])


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_is_filled_in_is_not_searched_for_places(domain: DomainName) -> None:
    hostile = "{tool_definitions} {demonstrations} {} %s </predicted_observation> {initial_state}"
    tool = ToolSpec(name="t", description=hostile)
    text = PromptSet.default().system(
        domain,
        tools=[tool],
        initial_state=hostile,
        demonstrations=hostile,
        instruction=hostile,
    )
    assert text.count(hostile) == (4 if domain in WITH_TOOLS else 3)


@given(st.text(), st.text(), st.text(), st.text())
def test_any_text_can_be_filled_in(name: str, state: str, shown: str, told: str) -> None:
    # Markers of a reply are written so that they are none; another test holds that.
    assume(not any("<" in one for one in (state, told)))
    text = PromptSet.default().system(
        "mcp",
        tools=[ToolSpec(name=name, description=state)],
        initial_state=state,
        demonstrations=shown,
        instruction=told,
    )
    assert state.strip() in text
    assert told.strip() in text


def test_text_that_is_no_utf8_is_made_sendable() -> None:
    tool = ToolSpec(name="t", description="caf\udce9")
    PromptSet.default().system("mcp", tools=[tool], instruction="caf\udce9").encode()


def test_a_folder_of_templates_is_filled_literally(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path,
        mcp='Be {"a": {0}}.\n\n{tool_definitions}\n\n---\n\nRules.\n{demonstrations}',
        terminal="Be a terminal.",
        web="Answer in <predicted_observation></predicted_observation>.\n",
    )
    prompts = PromptSet.load(folder)
    assert prompts.system("mcp", initial_state="S", demonstrations="D", instruction="I") == (
        'Be {"a": {0}}.\n\n[]\n\n---\n\nRules.\n\n# Initial State\n\nS\n\n# Demonstrations\n\nD\n\n'
        f"# Simulation Instruction\n\nI\n\n{TAG_INSTRUCTION}"
    )
    assert prompts.system("terminal", demonstrations="D") == (
        f"Be a terminal.\n\n# Demonstrations\n\nD\n\n{TAG_INSTRUCTION}"
    )
    assert prompts.system("web") == "Answer in <predicted_observation></predicted_observation>."


def test_a_tag_in_a_tool_does_not_stand_for_the_instruction(tmp_path: Path) -> None:
    prompts = PromptSet.load(folder_of(tmp_path, mcp="Be.\n{tool_definitions}\n{demonstrations}"))
    text = prompts.system("mcp", tools=[ToolSpec(name=f"<{TAG}>")], instruction=f"<{TAG}>")
    assert text.endswith(TAG_INSTRUCTION)


def test_a_place_after_the_demonstrations_is_filled_too(tmp_path: Path) -> None:
    template = "Be.\n{demonstrations}\nTools: {tool_definitions}\n{demonstrations}"
    prompts = PromptSet.load(folder_of(tmp_path, mcp=template))
    assert prompts.system("mcp", demonstrations="D") == (
        f"Be.\n\n# Demonstrations\n\nD\n\nTools: []\n\n{TAG_INSTRUCTION}"
    )


def test_the_version_of_a_folder_follows_its_content(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, web="one", os="two")
    first = PromptSet.load(folder).version
    assert first == PromptSet.load(folder).version
    assert first != PromptSet.default().version
    (folder / "os" / "judge_system_prompt.txt").write_text("not read", "utf-8")
    assert first == PromptSet.load(folder).version
    (folder / "os" / "system_prompt.txt").write_text("three", "utf-8")
    assert first != PromptSet.load(folder).version


def test_a_domain_that_a_folder_lacks_is_missed_when_it_is_asked_for(tmp_path: Path) -> None:
    prompts = PromptSet.load(folder_of(tmp_path, mcp="a", os="b"))
    with pytest.raises(UsageError) as caught:
        prompts.system("web")
    assert str(caught.value) == (
        f"the folder {str(tmp_path)!r} has no prompt for the domain 'web'. It has: mcp, os. Add"
        " 'web/system_prompt.txt', or use the shipped prompts."
    )


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder of prompts"):
        PromptSet.load(tmp_path / "none")


def test_a_folder_without_prompts_names_the_layout_and_the_folder_that_was_meant(
    tmp_path: Path,
) -> None:
    (tmp_path / "prompts").mkdir()
    folder_of(tmp_path / "prompts", os="b")
    with pytest.raises(UsageError) as caught:
        PromptSet.load(tmp_path)
    assert str(tmp_path / "terminal" / "system_prompt.txt") in str(caught.value)
    assert str(caught.value).endswith(f"Did you mean {str(tmp_path / 'prompts')!r}?")


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\xff\xfe", "cannot be read"), (b" \n", "empty")]
)
def test_a_prompt_that_cannot_be_used_is_a_usage_error(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    folder = folder_of(tmp_path, os="b")
    (folder / "os" / "system_prompt.txt").write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        PromptSet.load(folder)


def test_a_command_has_a_prompt_of_its_own() -> None:
    text = PromptSet.default().command()
    assert f"<{TAG}> and </{TAG}>" in text
    for word in ("stdout", "stderr", "exit_code", "operations", "command not found", "127"):
        assert word in text
    for kind in ("write", "append", "delete", "move", "chmod", "mkdir"):
        assert f"| `{kind}` |" in text


def test_a_folder_may_have_its_own_prompt_for_a_command(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    without = PromptSet.load(folder_of(tmp_path / "a", os="b"))
    own = PromptSet.load(folder_of(tmp_path / "b", os="b", command="Be a program."))
    assert without.command() == PromptSet.default().command()
    assert own.command() == f"Be a program.\n\n{TAG_INSTRUCTION}"
