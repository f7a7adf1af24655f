"""When an interactive shell waits for another line."""

from __future__ import annotations

import pytest

from agentworld_sim.engines.shell import needs_more_input


@pytest.mark.parametrize(
    "script",
    [
        "echo 'open",
        'echo "open',
        "for i in 1 2; do",
        "if true; then echo",
        "f() {",
        "case x in",
        "echo $(",
        "cat <<EOF",
        "cat <<'EOF'\nline",
        "cat <<-EOF\n\tline",
        "echo a &&",
        "echo a |",
        "echo a ||  ",
        "echo a \\",
        "{ echo;",
    ],
)
def test_the_beginning_of_a_command_waits_for_more(script: str) -> None:
    assert needs_more_input(script)


@pytest.mark.parametrize(
    "script",
    [
        "echo done",
        "echo 'closed'",
        "for i in 1 2; do echo $i; done",
        "cat <<EOF\nline\nEOF",
        "cat <<-EOF\n\tline\n\tEOF",
        "cat <<< word",
        "echo $((1 << 2))",
        "echo a \\\\",
        "if then",
        "echo )",
        "sleep 1 &",
        "",
        "# a comment",
    ],
)
def test_a_whole_command_and_a_wrong_one_do_not_wait(script: str) -> None:
    assert not needs_more_input(script)
