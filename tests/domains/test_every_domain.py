"""What holds in all seven domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim.domains import domain
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

DOMAINS: tuple[DomainName, ...] = get_args(DomainName)

# Lone surrogates included: a file that is no UTF-8 comes as such.
ANY_TEXT = st.text(alphabet=st.characters())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ("tool", "browser_click", "click", "fill", "mcp__s__scroll", "Bash", "web_search", "type")
)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_domain_knows_its_name_and_its_form(name: DomainName) -> None:
    kind = domain(name)
    form = (kind.name, kind.fence, kind.state, kind.toolkits)
    assert (
        form
        == {
            "mcp": ("mcp", "json", "never", ()),
            "search": ("search", "json", "never", ()),
            "terminal": ("terminal", "json", "first", ("terminal",)),
            "swe": ("swe", "json", "never", ("claude-code",)),
            "web": ("web", "", "first", ()),
            "android": ("android", "json", "always", ()),
            "os": ("os", "python", "first", ()),
        }[name]
    )


@pytest.mark.parametrize("name", DOMAINS)
@given(tool=NAMES, arguments=st.dictionaries(ANY_TEXT, JSON, max_size=3))
def test_any_call_can_be_written_and_sent(
    name: DomainName, tool: str, arguments: dict[str, Any]
) -> None:
    domain(name).action(ToolCall(tool, arguments), ToolSpec(name=tool)).text.encode()


@pytest.mark.parametrize("name", DOMAINS)
@given(text=ANY_TEXT, is_error=st.booleans(), structured=st.none() | JSON)
def test_any_observation_can_be_written_and_sent(
    name: DomainName, text: str, is_error: bool, structured: object
) -> None:
    observation = Observation(text=text, is_error=is_error, structured=structured)
    domain(name).write(observation).encode()


@pytest.mark.parametrize("name", DOMAINS)
@given(text=ANY_TEXT, tool=NAMES)
def test_any_text_is_read_as_imagined(name: DomainName, text: str, tool: str) -> None:
    observation = domain(name).read(text, ToolCall(tool, {}), ToolSpec(name=tool))
    assert observation.provenance == "imagined"
    observation.text.encode()


@pytest.mark.parametrize("name", ["mcp", "search", "web", "android", "os", "swe"])
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_was_read_is_written_and_read_again_the_same(name: DomainName, text: str) -> None:
    kind, call, tool = domain(name), ToolCall("tool", {}), ToolSpec(name="tool")
    observation = kind.read(text, call, tool)
    assert kind.read(kind.write(observation), call, tool) == observation


@pytest.mark.parametrize("name", DOMAINS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ANY_TEXT, earlier=st.lists(ANY_TEXT, max_size=2), tool=NAMES, keys=JSON)
def test_checks_judge_any_text(
    name: DomainName,
    text: str,
    earlier: list[str],
    tool: str,
    keys: object,
    refusals_of: Callable[..., dict[str, str]],
) -> None:
    arguments = {"keystrokes": keys, "queries": keys} if name != "terminal" else {}
    refusals_of(name, text, arguments, tool=tool, earlier=earlier)


@pytest.mark.parametrize("name", DOMAINS)
def test_checks_are_about_imagined_observations_only(name: DomainName) -> None:
    assert {check.scope for check in domain(name).checks} <= {"imagined"}


@pytest.mark.parametrize("name", DOMAINS)
def test_a_long_hostile_line_is_read_in_no_time_worth_mentioning(
    name: DomainName, refusals_of: Callable[..., dict[str, str]]
) -> None:
    kind, call, tool = domain(name), ToolCall("web_search", {"command": "x"}), ToolSpec(name="t")
    for piece in (
        '"type',
        "[ref=",
        "[0] ",
        "\x1b]",
        "# ",
        "### Page\n",
        "- a\n",
        "{",
        "\n",
        "[1] a.b\n",
    ):
        text = piece * (400_000 // len(piece))
        observation = kind.read(text, call, tool)
        kind.write(observation)
        refusals_of(name, observation.text, {"query": "x"}, tool="web_search", earlier=[text])
        refusals_of(name, f"### Snapshot\n{text}", {"keystrokes": []}, earlier=[text])


def test_an_imagined_observation_keeps_its_provenance_out_of_its_writing() -> None:
    for name in DOMAINS:
        kind = domain(name)
        imagined = Observation(text="hello", provenance="imagined")
        assert kind.write(imagined) == kind.write(replace(imagined, provenance="computed"))
