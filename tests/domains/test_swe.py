"""The tools of coding agents."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim.domains import domain
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

SWE = domain("swe")
BASH = {"command": "x"}
READ = {"file_path": "/x"}


@pytest.mark.parametrize(
    ("text", "arguments", "is_error"),
    [
        ("<tool_use_error>File does not exist.</tool_use_error>", READ, True),
        ("Error executing tool read_file: no", READ, True),
        ("Error: File '/x' not found", READ, True),
        ("Error: a log that begins so\nand goes on", READ, False),
        ("Error: printed by a program", BASH, False),
        ("Exit code 2\nls: cannot access 'x'", BASH, True),
        ("Exit code 0\n", BASH, False),
        ("Exit code 2 is documented", BASH, False),
        ("Exit code 2\n", READ, False),
        ("Command: x\nDirectory: (root)\nOutput: y\nExit Code: 1", BASH, False),
        ("     1\tfirst line", READ, False),
        ("", BASH, False),
    ],
)
def test_an_error_is_marked_where_the_tool_says_so_clearly(
    text: str, arguments: dict[str, Any], is_error: bool
) -> None:
    read = SWE.read(text, ToolCall("tool", arguments), ToolSpec(name="tool"))
    assert read == Observation(text=text, is_error=is_error, provenance="imagined")


def test_a_tool_with_an_output_schema_gives_structured_content() -> None:
    tool = ToolSpec(name="todo", output_schema={"type": "object"})
    assert SWE.read('{"done": 1}', ToolCall("todo", {}), tool).structured == {"done": 1}
    with pytest.raises(ValueError, match="not valid JSON"):
        SWE.read("done", ToolCall("todo", {}), tool)


def test_content_that_is_no_text_is_named_in_the_history() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}
    gemini = {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}}
    plain = {"type": "image", "mime_type": "image/gif", "base64": "AAAA"}
    for blocks, shown in [
        ([picture], "[image/png]"),
        ([gemini, plain], "[application/pdf]\n[image/gif]"),
        ([{"type": "audio"}, {}, 1], "[audio]\n[content]\n[content]"),
    ]:
        assert SWE.write(Observation(text="", structured=blocks)) == shown


def test_text_beside_structured_content_is_all_that_is_written() -> None:
    assert SWE.write(Observation(text="hi\n", structured={"stdout": "hi\n"})) == "hi\n"
