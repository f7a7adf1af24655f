"""The JSON of actions."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from agentworld_sim.domains.text import action_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT | st.integers(), inner),
)


@given(value=VALUES)
def test_an_action_is_indented_as_json_itself_indents(value: Any) -> None:
    assert action_json(value) == json.dumps(value, ensure_ascii=False, indent=2)
