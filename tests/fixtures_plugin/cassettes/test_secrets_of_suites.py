"""Secrets of the process that runs the tests: in no cassette, no page and no failure text."""

from __future__ import annotations

import pytest

from agentworld_sim.redaction.environment import process_secrets
from tests.fixtures_plugin.cassettes.conftest import CONFTEST, cassettes
from tests.fixtures_plugin.conftest import Suite, said

KEY = "zz91-no-known-shape"
PASSWORD = "hunter2hunter2"

TESTS = """
    import os
    from agentworld_sim import ToolSpec

    def call(world):
        types = {name: {"type": "string"} for name in ("q", "password")}
        spec = ToolSpec(name="search", input_schema={"type": "object", "properties": types})
        world.world.add_tools([spec])
        key = os.environ["PROD_API_KEY"]
        world.call("search", q=f"https://me:pw-in-url@h/ with {key}", password="hunter2hunter2")

    def test_passes(world):
        call(world)

    def test_fails(world):
        call(world)
        world.assert_called("search", args={"q": "nothing", "password": 1})

    def test_fails_for_a_file(world, sim_shell):
        sim_shell(f"printf 'line\\nkey {os.environ['PROD_API_KEY']}\\n' > f")
        world.assert_state(files={"f": "line\\nkey\\n"})
"""


@pytest.mark.usefixtures("server")
def test_keys_of_the_environment_are_in_no_file_and_no_failure(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROD_API_KEY", KEY)
    suite.file("conftest.py", CONFTEST)
    suite.tests(TESTS)
    result = suite.run("--sim-report=page.html", "--tb=line")
    result.assert_outcomes(passed=1, failed=2)
    page = (suite.path / "page.html").read_text(encoding="utf-8")
    (cassette,) = cassettes(suite)
    for text in (said(result), page, (suite.path / cassette).read_text(encoding="utf-8")):
        assert "[redacted:" in text
        for secret in (KEY, PASSWORD, "pw-in-url"):
            assert secret not in text
    # A colleague's key finds the same answer.
    monkeypatch.setenv("PROD_API_KEY", "another-0123456789")
    suite.run("--sim-mode=replay", "-k", "passes").assert_outcomes(passed=1, deselected=2)


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("PROD_API_KEY", KEY, True),
        ("TOKEN", "twentylettersandmore", True),
        ("POSTGRES_PASSWORD", "postgres", False),
        ("SSL_KEY", "/etc/ssl/private/server-2.key", False),
        ("HOSTNAME", "host-0123456789", False),
    ],
)
def test_only_what_can_be_no_word_of_its_own_is_a_secret(
    name: str, value: str, secret: bool
) -> None:
    assert process_secrets({name: value}) == [value] * secret
