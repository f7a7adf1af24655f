"""Options, their ini twins, the mode under CI, and what the header says of them."""

from __future__ import annotations

import pytest

from .conftest import Suite, said

HEADER = "simulated worlds: *"


def header(result: pytest.RunResult) -> str:
    return next(line for line in result.outlines if line.startswith("simulated worlds: "))


def test_a_session_without_options_says_its_mode_and_why(suite: Suite) -> None:
    suite.tests("def test_one(): pass")
    result = suite.run()
    result.assert_outcomes(passed=1)
    assert (
        header(result)
        == "simulated worlds: mode once (the default outside of CI), seed of each scenario, guard worlds"
    )


@pytest.mark.parametrize(
    ("value", "mode"),
    [("true", "replay"), ("1", "replay"), ("0", "once"), ("False", "once"), ("", "once")],
)
def test_under_ci_recorded_answers_only(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, value: str, mode: str
) -> None:
    monkeypatch.setenv("CI", value)
    line = header(suite.run())
    why = "CI is set" if mode == "replay" else "the default outside of CI"
    assert f"mode {mode} ({why})" in line


def test_options_go_before_the_ini_file_and_both_before_ci(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    suite.ini("sim_mode = off", "sim_seed = 7", "sim_guard = all", "sim_allow_real = look peek")
    assert header(suite.run()) == (
        "simulated worlds: mode off (ini file), seed 7, guard all, real tools: look, peek"
    )
    result = suite.run(
        "--sim-mode=live", "--sim-seed=8", "--sim-guard=worlds", "--sim-allow-real=find_it"
    )
    assert header(result) == (
        "simulated worlds: mode live (--sim-mode), seed 8, guard worlds, real tools: find_it, look, peek"
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "--sim-mode=rpelay",
            "--sim-mode 'rpelay': there is no 'rpelay'. Did you mean 'replay'? There are:",
        ),
        ("--sim-seed=x1", "--sim-seed 'x1' is no seed: give a whole number from 0 on."),
        ("--sim-seed=-1", "--sim-seed '-1' is no seed: give a whole number from 0 on."),
        (
            "--sim-guard=al",
            "--sim-guard 'al': there is no 'al'. Did you mean 'all'? There are: worlds, all, off.",
        ),
        (
            "--sim-allow-real=get_*",
            "a real tool is allowed by its whole name only, without patterns.",
        ),
        (
            "--sim-allow-url=api.example.com",
            "--sim-allow-url names no server. Write its URL, for example https://api.example.com.",
        ),
        ("--sim-report=page.txt", "--sim-report 'page.txt' is no page: give it a name in .html."),
    ],
)
def test_a_wrong_option_ends_the_session_with_one_line(
    suite: Suite, option: str, message: str
) -> None:
    suite.tests("def test_one(): pass")
    result = suite.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in said(result)
    assert "Traceback" not in said(result)


def test_a_wrong_mode_in_the_ini_file_is_told_as_one_of_the_ini_file(suite: Suite) -> None:
    suite.ini("sim_mode = offf")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "sim_mode = offf in the ini file: there is no 'offf'. Did you mean 'off'?" in said(
        result
    )


def test_help_shows_every_option_and_ini_value(suite: Suite) -> None:
    text = said(suite.run("--help"))
    for name in ("mode", "seed", "allow-real", "allow-url", "trim", "report", "guard"):
        assert f"--sim-{name}" in text
    for name in (
        "mode",
        "seed",
        "allow_real",
        "allow_urls",
        "report",
        "guard",
        "cassettes",
        "scenario",
    ):
        assert f"sim_{name} (" in text


def test_markers_lists_the_marker_with_its_keywords(suite: Suite) -> None:
    suite.run("--markers").stdout.fnmatch_lines(
        [
            "@pytest.mark.sim(?, scenario=None, answers={}, controls=(), may_miss=(), access={}, mode=None, seed=None, *"
        ]
    )
