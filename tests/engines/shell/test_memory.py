"""What a shell remembers has one form, whatever its interpreter did before."""

from __future__ import annotations

import json

from bashkit import Bash, ExecutionProfile
from hypothesis import given, strategies as st

from agentworld_sim.engines.shell.session import capture, commit_of, memory_of

SCRIPTS = (
    "x=1; export y='two words'",
    "f() { echo f:$x; }; alias ll='ls -l'",
    "declare -A m=([k]=v); list=(a b)",
    "cd /tmp; shopt -s nullglob; readonly r=5",
    "unset x; pushd / > /dev/null",
)
PROBE = "echo $x $y $r ${list[@]} ${m[k]} $PWD; f; alias; shopt nullglob; dirs; declare -p m"


def interpreter() -> Bash:
    return Bash(profile=ExecutionProfile.Interactive)


@given(st.lists(st.sampled_from(SCRIPTS), max_size=4), st.integers(0, 3))
def test_equal_shells_have_equal_memory_and_are_restored_whole(
    scripts: list[str], before: int
) -> None:
    first, second = interpreter(), interpreter()
    for _ in range(before):
        second.execute_sync("")
    for script in scripts:
        first.execute_sync(script)
        second.execute_sync(script)
    memory = memory_of(capture(first))
    assert memory_of(capture(second)) == memory
    assert json.loads(memory)["cwd"] == first.shell_state().cwd

    fresh = capture(interpreter())
    restored = interpreter()
    restored.checkout(*commit_of(memory, fresh))
    # A restored function is parsed anew, so its recorded place may move, once.
    settled = memory_of(capture(restored))
    again = interpreter()
    again.checkout(*commit_of(settled, fresh))
    assert memory_of(capture(again)) == settled
    assert restored.execute_sync(PROBE).stdout == first.execute_sync(PROBE).stdout
