"""Stubs, controls and access rules of a test: what the marker and `world.answer` say."""

from __future__ import annotations

import pytest

from .conftest import Suite, said


def test_stubs_controls_and_access_reach_the_tools_of_the_agent(suite: Suite) -> None:
    suite.tests("""
        from agentworld_sim.controls import Fault
        from agentworld_sim.errors import AccessRefused

        def send_email(to: str) -> str:
            "Sends an email."
            raise AssertionError("it ran")

        def get_weather(city: str) -> str:
            "The weather."
            raise AssertionError("it ran")

        def price_of(item: str) -> str:
            "The price."
            return f"{item}: 3"

        pytestmark = pytest.mark.sim(answers={"send_email": "sent"})

        @pytest.mark.sim(answers={"get_weather": lambda city: {"city": city, "sun": True}})
        def test_marker(world, sim_tools):
            world.answer("send_email", "queued")
            mail, weather = sim_tools([send_email, get_weather])
            assert mail.invoke({"to": "a@b.c"}) == "queued"
            assert "Rome" in weather.invoke({"city": "Rome"})
            assert world.fork().call("send_email", to="a@b.c").text == "queued"
            world.answer("get_weather", ValueError("no such city"))
            assert world.call("get_weather", city="Atlantis").is_error
            world.assert_called("get_weather", times=2)

        @pytest.mark.sim(controls=[Fault(name="busy", tool="send_email", error="busy")])
        def test_controls(sim_tools, world):
            sim_tools([send_email])
            assert world.call("send_email", to="a@b.c").text == "busy"

        @pytest.mark.sim(access={"price_of": "real"})
        def test_real(sim_tools):
            assert sim_tools([price_of])[0].invoke({"item": "tea"}) == "tea: 3"

        @pytest.mark.sim(access={"send_*": "refuse"})
        def test_refused(sim_tools):
            (mail,) = sim_tools([send_email])
            with pytest.raises(AccessRefused, match="'refuse'} says so"):
                mail.invoke({"to": "a@b.c"})
    """)
    suite.run("-p", "no:cacheprovider").assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("answers=['sent']", "answers is a mapping of a tool's name to a text"),
        ("answers={'x': object()}", "the answer for 'x' is"),
        ("controls=[3]", "controls is a list of controls"),
        ("access={'x': 'yes'}", "'yes' is no access."),
        ("access={'*': 'real'}", "Real tools are named one by one"),
    ],
)
def test_stubs_that_cannot_be_end_the_session(suite: Suite, marker: str, message: str) -> None:
    suite.tests(f"""
        @pytest.mark.sim({marker})
        def test_wrong(world): pass
    """)
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in said(result)
