"""Chance comes from the world's seed: the same seed gives the same bytes, another gives others."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from .conftest import MachineShell, MakeMachine

DRAWS = (
    "echo $RANDOM $RANDOM $(echo $RANDOM)",
    "echo $SRANDOM $((SRANDOM % 1000000))",
    "shuf -i 1-1000 -n 5",
    "seq 100 | shuf | head -n 5",
    "shuf -e a b c d e f g h i j k l",
    "shuf -r -n 20 -i 0-9",
    "seq 50 | sort -R | head -n 5",
    "mktemp -u; mktemp -d; mktemp --suffix=.log x.XXXXXX",
    "head -c 16 /dev/urandom | od -An -tx1",
    "od -An -N8 -tx8 /dev/urandom",
    "tr -dc A-Za-z0-9 < /dev/urandom | head -c 20",
    "dd if=/dev/urandom bs=16 count=1 2>/dev/null | md5sum",
    "cat /dev/random | head -c 8 | base64",
    "cat /proc/sys/kernel/random/uuid",
    "openssl rand -hex 16",
    "openssl rand -base64 12",
    'awk -v seed=$RANDOM "BEGIN{srand(seed); print rand()}"',
    "bash -c 'echo $RANDOM'; timeout 5 bash -c 'echo $RANDOM'",
)


@pytest.mark.parametrize("script", DRAWS)
def test_the_seed_decides(make_machine: MakeMachine, script: str) -> None:
    first, again, other = (make_machine(seed=seed).out(script) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_no_two_reads_of_a_random_device_are_alike(machine_shell: MachineShell) -> None:
    script = "for i in 1 2 3 4; do head -c 8 /dev/urandom | od -An -tx1; done; trap -p"
    lines = machine_shell.out(script).splitlines()
    assert len(set(lines)) == len(lines) == 4
    script = "a=$(od -An -N4 -tu4 /dev/urandom); b=$(od -An -N4 -tu4 /dev/urandom); echo $a $b"
    a, b = machine_shell.out(script).split()
    assert a != b


def test_a_kept_shell_knows_nothing_of_the_means(machine_shell: MachineShell) -> None:
    script = (
        "head -c 4 /dev/urandom > f; openssl rand -hex 2 > g; awk 'BEGIN{srand()}'; sed --version"
    )
    machine_shell.run(script, keep="all")
    assert machine_shell.run("declare -F; trap -p; ls", keep="all").stdout == "f\ng\n"


def test_a_users_own_function_is_left_alone(machine_shell: MachineShell) -> None:
    machine_shell.run("awk() { echo mine; }", keep="all")
    assert machine_shell.run("awk 'BEGIN{srand()}'", keep="all").stdout == "mine\n"
    assert machine_shell.run("declare -F", keep="all").stdout == "declare -f awk\n"
    assert machine_shell.run("jq() { echo $1; }; jq now", keep="all").stdout == "now\n"


def test_mktemp_makes_what_it_names(machine_shell: MachineShell) -> None:
    made = machine_shell.out(
        "f=$(mktemp); d=$(mktemp -d); stat -c '%F %a' $f $d; echo $f"
    ).splitlines()
    assert made[:2] == ["regular empty file 600", "directory 700"]
    assert re.fullmatch(r"/tmp/tmp\.[A-Za-z0-9]{10}", made[2])
    assert machine_shell.fails("mktemp foo") == (
        "mktemp: too few X's in template \u2018foo\u2019\n",
        1,
    )
    assert machine_shell.fails("mktemp -p /no") == (
        (
            "mktemp: failed to create file via template \u2018/no/tmp.XXXXXXXXXX\u2019: No such file or"
            " directory\n"
        ),
        1,
    )


def test_shuf_keeps_every_line(machine_shell: MachineShell) -> None:
    assert machine_shell.out("seq 20 | shuf | sort -n | tr '\\n' ' '").split() == [
        str(number) for number in range(1, 21)
    ]
    assert machine_shell.fails("shuf -i 5-1") == ("shuf: invalid input range: \u20185-1\u2019\n", 1)


def test_equal_lines_stay_together_in_a_random_sort(machine_shell: MachineShell) -> None:
    lines = machine_shell.out("printf '%s\\n' a b a c b a | sort -R").split()
    assert sum(x != y for x, y in pairwise(lines)) == 2
