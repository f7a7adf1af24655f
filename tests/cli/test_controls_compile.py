"""`agentworld controls compile`: controls on stdout, as a scenario takes them; what is not enforced beside them."""

from __future__ import annotations

import json

import pytest
import yaml

from agentworld_sim.cli import main
from agentworld_sim.llm.scripted import Script, ScriptedModelServer
from agentworld_sim.scenario import Scenario

TEXT = "Every search fails with 503. Be grumpy."
PARTS = [
    {"quote": "Every search fails with 503", "kind": "server-error", "tool": "*search*"},
    {"quote": "Be grumpy", "kind": "none"},
]


def compiled(
    script: Script, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[object, str, str]:
    with ScriptedModelServer(script) as server:
        monkeypatch.setenv("AGENTWORLD_MODEL_URL", server.url)
        with pytest.raises(SystemExit) as left:
            main(["controls", "compile", TEXT])
    said = capsys.readouterr()
    return left.value.code, said.out, said.err


def test_the_output_is_the_controls_of_a_scenario(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = compiled([json.dumps({"parts": PARTS})], capsys, monkeypatch)
    assert (code, err) == (0, "not enforced: Be grumpy\n")
    assert "  # Every search fails with 503\n" in out
    scenario = Scenario.model_validate({"name": "x", "domains": ["search"], **yaml.safe_load(out)})
    assert [one.kind for one in scenario.controls] == ["server-error"]


def test_an_instruction_that_no_control_fits_is_left_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = compiled([json.dumps({"parts": []})], capsys, monkeypatch)
    assert (code, out) == (0, "controls: []\n")
    assert err.splitlines() == [
        "not enforced: Every search fails with 503",
        "not enforced: Be grumpy",
    ]


def test_without_a_model_it_says_how_to_name_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTWORLD_MODEL_URL", raising=False)
    with pytest.raises(SystemExit) as left:
        main(["controls", "compile", TEXT])
    assert left.value.code == 2
    assert "--model-url" in capsys.readouterr().err
