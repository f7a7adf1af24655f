"""Settings of a model that options and environment variables give."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings

URL = "http://127.0.0.1:8000/v1"


def test_the_environment_names_a_model_its_key_and_its_prompts(tmp_path: Path) -> None:
    found = ModelSettings.find(
        environment={
            "AGENTWORLD_MODEL_URL": URL,
            "AGENTWORLD_MODEL": "pocket",
            "AGENTWORLD_API_KEY": "secret",
            "AGENTWORLD_PROMPTS": str(tmp_path),
        }
    )
    assert found is not None
    assert found == ModelSettings(url=URL, model="pocket", prompts=tmp_path)
    assert found.api_key == "secret"


def test_an_option_wins_over_the_variable_for_prompts(tmp_path: Path) -> None:
    environment = {"AGENTWORLD_PROMPTS": str(tmp_path / "of the environment")}
    found = ModelSettings.find(url=URL, environment=environment, prompts=tmp_path)
    assert found is not None
    assert found.prompts == tmp_path


@pytest.mark.parametrize("environment", [{}, {"AGENTWORLD_PROMPTS": ""}])
def test_without_the_variable_the_shipped_prompts_are_used(environment: dict[str, str]) -> None:
    found = ModelSettings.find(url=URL, environment=environment)
    assert found is not None
    assert found.prompts is None


def test_a_folder_of_the_variable_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENTWORLD_PROMPTS", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match=r"there is no folder of prompts '.*nowhere'"):
        WorldModel.find(url=URL)
