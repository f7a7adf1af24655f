"""Directories list their entries as file systems do: in no order that means anything, always the same one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import MachineShell, MakeMachine
from .real_tools import assert_same_story

FILES = (
    "mkdir -p a/b a/c; printf 'x\nhello\ny\nz\n\n\nhello\n' | tee a/b/f a/c/g > a/z;"
    " for i in $(seq 9); do echo hello $i > a/n$i.txt; done"
)

WALKS = (
    FILES,
    "grep -rn --exclude-dir=c hello a | grep -v z",
    "grep -r hello a",
    "grep -rA1 hello a/b a/c",
    "grep -rc hello a",
    "grep -rl hello a",
    "grep -rL hello a",
    "grep -rL zzz a",
    "grep -rh hello a",
    "grep -rno hello a",
    "grep -rlZ hello a | tr '\\0' '\\n'",
    "cd a; grep -rn hello; cd ..",
    "grep -rq hello a; echo $?; grep -r nothere a; echo $?",
    "grep -rn hello a/z",
    "grep -r --include='*.txt' hello .",
    "grep -rn hello nope; echo $?",
    "grep -r --bogus x a 2>/dev/null; echo $?",
    "find a",
    "find a -type f -print0 | tr '\\0' '\\n'",
    "find a -name '*.txt' -exec grep -n hello {} +",
    "find a -name '*.txt' -exec grep -n hello {} \\;",
    "find a -name '*.txt' -printf '%f %s\\n' -print",
    "find a -depth | tail -n 1; find a | head -n 1; find a -name b -print -quit",
    "find a -name '*.txt' -exec nope {} +; echo $?; find a -type f -exec false {} +; echo $?",
    "find a ! -name '*.txt' -type f -print -o -name b -prune",
    "find a -name nope -exec cat {} +; echo $?",
    "tar cf t.tar a; tar tf t.tar",
    "ls -U a; ls -f a/b",
)


def test_walks_are_the_real_ones_but_for_the_order(tmp_path: Path) -> None:
    assert_same_story(tmp_path, WALKS, unordered=True)


def test_what_does_not_sort_shows_the_order_of_the_directory(machine_shell: MachineShell) -> None:
    machine_shell.run(FILES)
    names = machine_shell.out("ls -U a").split()
    assert names != sorted(names)
    assert machine_shell.out("ls a; echo a/*").split() == sorted(names) + [
        f"a/{name}" for name in sorted(names)
    ]
    # A walk goes into a folder where it meets it; what comes last of `-depth` is the folder itself.
    inner = {"b": ["b/f"], "c": ["c/g"]}
    walk = [f"a/{path}" for name in names for path in [name, *inner.get(name, [])]]
    assert machine_shell.out("find a").split() == ["a", *walk]
    upwards = [f"a/{path}" for name in names for path in [*inner.get(name, []), name]]
    assert machine_shell.out("find a -depth").split() == [*upwards, "a"]
    files = [path for path in walk if path not in ("a/b", "a/c")]
    for script in (
        "grep -rl hello a",
        "find a -type f -exec ls -U {} \\;",
        "find a -type f | xargs -n1",
    ):
        assert machine_shell.out(script).split() == files
    assert machine_shell.out("find a/c a/b").split() == ["a/c", "a/c/g", "a/b", "a/b/f"]
    found = machine_shell.out("find a -name 'n*' -exec grep -H hello {} +").splitlines()
    assert [line.partition(":")[0] for line in found] == [path for path in files if "/n" in path]
    assert machine_shell.out("tar cf t.tar a; tar tf t.tar").split()[1:] == [
        f"{path}/" if path in ("a/b", "a/c") else path for path in walk
    ]


def test_the_order_is_the_same_on_every_machine(make_machine: MakeMachine) -> None:
    one, other = make_machine(seed=1), make_machine(seed=2)
    one.run(FILES)
    other.run(f"mkdir a; touch a/n9.txt a/b; rm a/b; {FILES}")
    assert one.out("ls -U a; find a") == other.out("ls -U a; find a")


@pytest.mark.parametrize(
    "script",
    [
        (
            "cat > s.sh <<'EOF'\n#!/bin/bash\nwhile read x; do yes $x | sort; done\nawk 'BEGIN { while (i < 2) i++ }'"
            "\ngrep -r x .\nEOF\ntail -n +2 s.sh"
        ),
        "printf '%s\n' 'see; awk while (1)' \"x; grep -r foo .\"",
        "cat <<-E && echo it\\'s\n\tgrep -r don't .\n\tE\ncat <<F\nawk '{ while (1) }'\nF",
    ],
)
def test_texts_that_look_like_commands_stay_as_they_are(
    machine_shell: MachineShell, script: str
) -> None:
    assert "/proc" not in machine_shell.out(script)
