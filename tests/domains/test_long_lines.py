"""A hostile observation of a megabyte is judged in time in proportion to its length."""

from __future__ import annotations

import pytest

from agentworld_sim import CheckInput, Observation, ToolCall, ToolSpec, WorldState
from agentworld_sim.checks import FileAgreementCheck
from agentworld_sim.domains.web import PageForm
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.files import FileTree

STATE = WorldState(files=FileTree.from_entries([], directory_mtime_us=0), clock_us=0, seed=0)


def given(text: str, call: ToolCall) -> CheckInput:
    said = Observation(text=text, provenance="imagined")
    return CheckInput(call, ToolSpec(name=call.name), said, STATE, STATE, MemoryStore().blobs)


@pytest.mark.parametrize("line", ['"' + '\\"' * 500_000, '- button "' + '\\"' * 500_000])
def test_a_page_of_one_open_quote(line: str) -> None:
    text = f"### Snapshot\n```yaml\n{line}\n```\n"
    assert PageForm().judge(given(text, ToolCall("browser_click", {}))) is None


def test_a_listing_of_blanks() -> None:
    call = ToolCall("list_directory", {"path": "/"})
    FileAgreementCheck().judge(given("\t" * 1_000_000, call))
