"""A content stands in an answer as whole lines, or it does not stand there."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given, strategies as st

from agentworld_sim.checks.file_text import disagreement

WORDS = st.text(string.ascii_letters + string.digits + "_=.-", min_size=1, max_size=12)


@pytest.mark.parametrize(
    "shown",
    [
        "PORT=8080",
        "EXPORT=1\nMYPORT=80",
        "export PORT=80",
        "PORT=80 # as before",
        "PORT=80\\nDEBUG=1",
        "<file>PORT=8080</file>",
        '{"content": "PORT=8080"}',
        '{"content": "PORT=80\\nDEBUG=1"}',
    ],
)
def test_a_content_inside_a_longer_line_is_another_content(shown: str) -> None:
    assert disagreement(shown, "PORT=80", part=False) == "line 1 is 'PORT=80'"


@pytest.mark.parametrize(
    "shown",
    [
        "PORT=80\n",
        "PORT=8080\nPORT=80",
        "<file>PORT=80</file>",
        "Content of .env: PORT=80",
        ".env has `PORT=80`",
        "1\tPORT=80",
        "     1→PORT=80\n\n(end of file)",
        '{"path": ".env", "content": "PORT=80\\n", "size": 8}',
        "['PORT=80']",
    ],
)
def test_what_is_put_around_a_whole_content_is_no_part_of_it(shown: str) -> None:
    assert disagreement(shown, "PORT=80\n", part=False) is None


@given(WORDS, WORDS)
def test_no_line_that_goes_on_is_the_content(content: str, more: str) -> None:
    # "L1L1" may be the first line of a file, shown with its number.
    assume(not content.startswith(("1", "L1")))
    assert disagreement(content + more, content, part=False) is not None
    assert disagreement(content, content, part=False) is None
