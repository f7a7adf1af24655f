"""Which wheels a scenario's packages need, and wheels that are of no use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.shell.wasi.package_layer import installed_files
from agentworld_sim.engines.shell.wasi.wheels import Wheel, needed_wheels, wheels_in
from agentworld_sim.errors import UsageError
from tests.engines.shell.wasi.small_wheels import make_wheel
from tests.properties import examples


def chosen(folder: Path, *asked: str) -> list[str]:
    return [f"{one.name}=={one.version}" for one in needed_wheels(asked, wheels_in(folder))]


def test_the_newest_that_fit_together_are_chosen_with_what_they_need(tmp_path: Path) -> None:
    make_wheel(
        tmp_path,
        "top",
        requires=("low<2", 'old; python_version < "3.8"', "win; sys_platform == 'win32'"),
    )
    for version in ("1.0", "1.5", "2.0"):
        make_wheel(tmp_path, "low", version)
    assert chosen(tmp_path, "top") == ["low==1.5", "top==1.0"]
    assert chosen(tmp_path, "low") == ["low==2.0"]
    assert chosen(tmp_path, "Low==1.0", "top") == ["low==1.0", "top==1.0"]


def test_extras_bring_what_they_name(tmp_path: Path) -> None:
    make_wheel(tmp_path, "top", requires=('more; extra == "all"',))
    make_wheel(tmp_path, "more")
    assert chosen(tmp_path, "top") == ["top==1.0"]
    assert chosen(tmp_path, "top[all]") == ["more==1.0", "top==1.0"]


def test_wheels_for_another_python_and_pre_releases_come_last(tmp_path: Path) -> None:
    make_wheel(tmp_path, "top", "1.0")
    make_wheel(tmp_path, "top", "2.0", python=">=3.13")
    make_wheel(tmp_path, "top", "3.0rc1")
    make_wheel(tmp_path, "top", "4.0", tag="cp312-cp312-manylinux_2_17_x86_64")
    assert chosen(tmp_path, "top") == ["top==1.0"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("tpo",), "Did you mean 'top'?"),
        (("top>=2",), "There are: 1.0."),
        (("absent",), "agentworld machine packages add 'absent'"),
        (("top", "low==3"), "cannot stand together"),
        (("top ==",), "is no requirement"),
        (("fast",), "machine code"),
        (("needy",), r"'lost' \(needed by needy 1.0\) .* in FOLDER\. .* add 'lost' --to FOLDER"),
        (("slow",), r"fast-1.0.*\.whl \(needed by slow 1.0\) has parts in machine code"),
    ],
)
def test_what_cannot_be_chosen_is_one_clear_error(
    tmp_path: Path, asked: tuple[str, ...], says: str
) -> None:
    make_wheel(tmp_path, "top", requires=("low<2",))
    make_wheel(tmp_path, "low", "1.0")
    make_wheel(tmp_path, "low", "3.0")
    make_wheel(tmp_path, "needy", requires=("lost",))
    make_wheel(tmp_path, "slow", requires=("fast",))
    make_wheel(tmp_path, "fast", tag="cp312-cp312-macosx_11_0_arm64")
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        needed_wheels(asked, wheels_in(tmp_path), Path("FOLDER"))


def test_machine_code_in_a_wheel_is_refused_whatever_its_name_says(tmp_path: Path) -> None:
    path = make_wheel(tmp_path, "top", files={"top/_fast.cpython-312-x86_64-linux-gnu.so": "ELF"})
    with pytest.raises(UsageError, match="machine code"):
        installed_files(Wheel.at(path))


@pytest.mark.parametrize("name", ["../out.py", "/etc/passwd", "top/../../out.py"])
def test_a_wheel_that_reaches_out_is_broken(tmp_path: Path, name: str) -> None:
    path = make_wheel(tmp_path, "top", files={name: ""})
    with pytest.raises(UsageError, match=r"broken.*agentworld machine packages add top==1.0"):
        needed_wheels(["top"], [Wheel.at(path)])


@settings(max_examples=examples(100), deadline=None)
@given(cut=st.integers(0, 600), flip=st.integers(0, 600))
def test_a_damaged_wheel_is_a_usage_error_or_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flip: int
) -> None:
    path = make_wheel(tmp_path_factory.mktemp("wheels"), "top")
    data = bytearray(path.read_bytes())[: -cut or None]
    if flip < len(data):
        data[flip] ^= 0xFF
    path.write_bytes(data)
    try:
        assert installed_files(Wheel.at(path))
    except UsageError as error:
        assert "top-1.0" in str(error)


def test_a_file_that_is_no_wheel_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.whl").write_bytes(b"")
    with pytest.raises(UsageError, match="has not the name of a wheel"):
        wheels_in(tmp_path)


def test_console_scripts_and_the_parts_of_a_data_folder_go_where_pip_puts_them(
    tmp_path: Path,
) -> None:
    files = {
        "top-1.0.data/scripts/run": "#!python\nprint(1)\n",
        "top-1.0.data/purelib/more.py": "x = 1\n",
    }
    made = installed_files(
        Wheel.at(make_wheel(tmp_path, "top", files=files, scripts="top = top:main"))
    )
    assert made["bin/run"] == b"#!/usr/bin/python3\nprint(1)\n"
    assert made["packages/more.py"] == b"x = 1\n"
    assert b"from top import main" in made["bin/top"]
    assert made["packages/top-1.0.dist-info/INSTALLER"] == b"debian\n"
