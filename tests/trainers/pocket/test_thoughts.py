"""What a thought says: what the command reads, as it is before the command."""

from __future__ import annotations

import pytest

from experiments.pocket.thoughts import NOTHING, Look, thought

LOOK = Look(
    files={
        "/": None,
        "/data": None,
        "/data/moth": "red\nblue\n",
        "/data/barn": None,
        "/data/barn/owl": "oak elm\n",
    },
    cwd="/data",
    variables={"x": "fig"},
    status=1,
)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cat moth", "- moth: red, blue"),
        ("head -n 1 moth", "- moth: red, blue"),
        ("grep red moth", "- moth: red, blue"),
        ("cat barn/owl moth", "- barn/owl: oak elm\n- moth: red, blue"),
        ("cat hen", "- hen: none"),
        ("cat moth | head -n 1", "- moth: red, blue"),
        ("sort moth > hen", "- moth: red, blue"),
        ("for v in moth hen; do cat $v; done", "- moth: red, blue\n- hen: none"),
        ("cp moth hen", "- moth: file\n- hen: none"),
        ("rm -r barn", "- barn: folder"),
        ("cd ..", "- ..: folder"),
        ("cd /", "- /: folder"),
        ("test -f moth && echo yes || echo no", "- moth: file"),
        ("ls", "- .: barn, moth"),
        ("ls barn", "- barn: owl"),
        ("pwd", "at /data"),
        ("echo $?", "status 1"),
        ("echo $x plum", "x=fig"),
        ("echo $x > hen", "x=fig"),
        ("echo $y", "y="),
        ("for v in a b; do echo $v; done", NOTHING),
        ("echo red blue", NOTHING),
        ("echo red >> moth", NOTHING),
        ("touch hen", NOTHING),
        ("x=1", NOTHING),
    ],
)
def test_a_thought_names_what_is_read(command: str, said: str) -> None:
    assert thought(command, LOOK) == said


def test_paths_are_told_as_they_are_written_and_read_from_the_working_directory() -> None:
    inside = Look(files=LOOK.files, cwd="/data/barn")
    assert thought("cat owl ../moth", inside) == "- owl: oak elm\n- ../moth: red, blue"
