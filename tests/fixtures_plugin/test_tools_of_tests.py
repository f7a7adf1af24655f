"""`sim_tools`, `sim_shell` and `scripted_model`, with real agents."""

from __future__ import annotations

from .conftest import Suite, said

AGENT = """
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    ran = []

    @tool
    def bash(command: str) -> str:
        "Runs a command in a shell."
        ran.append(command)
        return "really"

    @tool
    def look(place: str) -> str:
        "Looks somewhere."
        ran.append(place)
        return f"really at {place}"

    def call(name, id="1", **arguments):
        return {"name": name, "args": arguments, "id": id, "type": "tool_call"}

    def go(agent):
        return agent.invoke({"messages": [("user", "go")]})["messages"][-1].text
"""


def test_an_agent_works_in_the_world_and_its_real_tools_never_run(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    @pytest.mark.sim(scenario="failing-test")
    def test_sync(world, sim_tools, scripted_model):
        model = scripted_model(
            AIMessage("", tool_calls=[call("bash", command="make test")]),
            AIMessage("", tool_calls=[call("bash", "2", command="cat data/empty.csv")]),
            "done",
        )
        assert go(create_agent(model, sim_tools([bash]))) == "done"
        world.assert_called("bash", args={"command": "make test"}, times=1)
        assert not ran

    async def test_async(world, sim_tools, scripted_model):
        model = scripted_model([AIMessage("", tool_calls=[call("bash", command="echo hi")]), AIMessage("bye")])
        agent = create_agent(model, sim_tools([bash]))
        said = await agent.ainvoke({"messages": [("user", "go")]})
        assert [m.text for m in said["messages"]][-2:] == ["hi\\n", "bye"]
        assert not ran
    """
    )
    suite.run().assert_outcomes(passed=2)


def test_a_run_begins_where_the_world_stood_when_its_tools_were_made(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    def run(scripted_model, tools, command):
        model = scripted_model(AIMessage("", tool_calls=[call("bash", command=command)]), "done")
        go(create_agent(model, tools))

    def test_the_same_tools(world, sim_tools, scripted_model):
        from agentworld_sim import UsageError

        tools = sim_tools([bash])
        run(scripted_model, tools, "echo a >> log")
        run(scripted_model, tools, "echo b >> log; rm /etc/hosts")
        with pytest.raises(UsageError, match="answered on another branch"):
            world.assert_state(files={"/etc/hosts": ...})
        world.assert_state(files={"log": "a\\n", "/etc/hosts": ...}, at=world.ref)
        world.assert_state(files={"/etc/hosts": None}, at=world.calls()[-1].ref)
        world.assert_called("bash", times=2)
        with pytest.raises(AssertionError, match="removed /etc/hosts"):
            world.assert_no_destructive()

    def test_tools_of_its_own(world, sim_tools, scripted_model):
        run(scripted_model, sim_tools([bash]), "echo a >> log")
        run(scripted_model, sim_tools([bash]), "echo b >> log")
        world.assert_state(files={"log": "a\\nb\\n"})
    """
    )
    suite.run().assert_outcomes(passed=2)


def test_tools_that_bind_to_nothing_are_told_together_with_what_to_do(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    def test_one(sim_tools):
        sim_tools([bash, look])

    def test_bound(sim_tools):
        named = bash.model_copy(update={"name": "run_it"})
        simulated, = sim_tools([named], binds_to={"run_it": "terminal/bash"})
        assert simulated.invoke({"command": "echo x"}) == "x\\n"

    def test_wrong_name(sim_tools):
        sim_tools([bash], binds_to={"bsh": "terminal/bash"})

    def test_no_tool(sim_tools):
        sim_tools(["bash"])
    """
    )
    result = suite.run()
    result.assert_outcomes(passed=1, failed=3)
    text = said(result)
    assert "not every tool would be simulated." in text
    assert "- 'look' is refused, because it binds to nothing." in text
    assert "sim_tools(tools, binds_to={'look': 'toolkit/tool'})" in text
    assert "name a language world model that imagines it and is recorded" in text
    assert "--sim-allow-real look" in text
    assert "binds_to names 'bsh', which is not among the tools. Did you mean 'bash'?" in text
    assert "LangChain tools and functions, as your agent does, and got 'bash'." in text


def test_where_nobody_is_asked_the_refusal_says_how_to_record(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    def test_renamed(sim_tools):
        sim_tools([look])

    @pytest.mark.sim(allow_real=["look"])
    def test_real(sim_tools):
        sim_tools([look])[0].invoke({"place": "home"})
    """
    )
    text = said(suite.run("--sim-mode=replay", "-k", "renamed"))
    assert (
        "record it with a language world model (AGENTWORLD_MODEL_URL, --sim-mode=once; there"
        in text
    )
    assert "cassettes/test_it/test_renamed.yaml')" in text
    suite.run("-k", "real").assert_outcomes(passed=1, deselected=1)
    recorded = suite.path / "test_it.py"
    recorded.write_text(recorded.read_text().replace('@pytest.mark.sim(allow_real=["look"])', ""))
    text = said(suite.run("--sim-mode=replay", "-k", "real"))
    assert "AGENTWORLD_MODEL_URL, --sim-mode=live; " in text
    assert "test_real.yaml' was recorded without one)" in text


def test_failures_of_a_test_without_a_world_are_told_at_its_line_too(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    def test_script(scripted_model):
        bound = scripted_model(AIMessage("", tool_calls=[call("look", town="Bern")])).bind_tools([look])
        bound.invoke("go")
    """
    )
    text = said(suite.run())
    assert "ScriptMismatch: reply 1 of the script calls 'look'" in text
    assert "agentworld_graphs/" not in text
    assert "agentworld_graphs/" in said(suite.run("--full-trace"))


def test_a_miss_inside_of_an_agent_is_told_on_one_page_with_what_differs(suite: Suite) -> None:
    text = (
        AGENT
        + """
    @pytest.mark.sim(allow_real=["look"])
    def test_real(sim_tools, scripted_model):
        model = scripted_model(AIMessage("", tool_calls=[call("look", place="home")]), "done")
        create_agent(model, sim_tools([look])).invoke({"messages": [("user", "go")]})
    """
    )
    suite.tests(text)
    suite.run().assert_outcomes(passed=1)
    suite.tests(text.replace('place="home"', 'place="work"'))
    result = suite.run("--sim-mode=replay")
    result.stdout.fnmatch_lines(
        [
            '*look({"place":"work"}) was not recorded in*',
            '*look({"place":"home"})',
            '*differs in place: recorded "home", now "work"*',
        ]
    )
    assert len(result.outlines) < 50


def test_a_tool_that_is_allowed_runs_for_real_and_counts_as_real(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    def one(sim_tools):
        allowed, simulated = sim_tools([look, bash])
        assert allowed.invoke({"place": "home"}) == "really at home"
        assert simulated.invoke({"command": "echo x"}) == "x\\n"
        assert ran.pop() == "home" and not ran

    @pytest.mark.sim(allow_real=["look"], mode="off")
    def test_marker(sim_tools): one(sim_tools)

    @pytest.mark.sim(mode="off")
    async def test_async(sim_tools):
        (allowed,) = sim_tools([look])
        assert await allowed.ainvoke({"place": "x"}) == "really at x"
        assert ran.pop() == "x"
    """
    )
    result = suite.run("--sim-allow-real", "look")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 tests, 3 answers: 1 computed, 2 real"])


def test_real_answers_come_back_from_the_cassette_as_they_were(suite: Suite) -> None:
    suite.tests("""
        from langchain_core.tools import BaseTool, ToolException, tool

        ran = []

        @tool(response_format="content_and_artifact")
        def measure(x: int) -> tuple[str, dict]:
            "Measures."
            ran.append(x)
            return f"measured {x}", {"x": x, "all": [1, 2]}

        @tool
        def listed(x: int) -> dict:
            "Lists."
            ran.append(x)
            return {"x": [x]}

        class Own(BaseTool):
            name: str = "own"
            description: str = "Fails."
            handle_tool_error: bool = True

            def _run(self, x: int) -> str:
                ran.append(x)
                if x > 1:
                    raise ToolException("too much")
                return "fine"

        CALLS = [
            ("measure", {"x": 1}), ("listed", {"x": 2}), ("own", {"x": 1}), ("own", {"x": 2}),
            ("measure", {"x": 3}),
        ]

        def call(name, arguments):
            return {"name": name, "args": arguments, "id": "1", "type": "tool_call"}

        @pytest.mark.sim(allow_real=["measure", "listed", "own"])
        def test_sync(sim_tools):
            tools = {t.name: t for t in sim_tools([measure, listed, Own()])}
            said = [tools[name].invoke(call(name, arguments)) for name, arguments in CALLS]
            print("SAID", [(m.content, m.artifact, m.status) for m in said], ran)
            ran.clear()

        @pytest.mark.sim(allow_real=["measure", "listed", "own"])
        async def test_async(sim_tools):
            tools = {t.name: t for t in sim_tools([measure, listed, Own()])}
            said = [await tools[name].ainvoke(call(name, arguments)) for name, arguments in CALLS]
            print("SAID", [(m.content, m.artifact, m.status) for m in said], ran)
            ran.clear()
    """)

    def lines(*arguments: str) -> list[str]:
        result = suite.run("-s", *arguments)
        result.assert_outcomes(passed=2)
        return [line.partition("SAID ")[2] for line in result.outlines if "SAID " in line]

    first = lines()
    assert first[0] == first[1]
    assert "('measured 1', {'x': 1, 'all': [1, 2]}, 'success')" in first[0]
    assert "('too much', None, 'error')" in first[0]
    assert first[0].endswith("[1, 2, 1, 2, 3]")
    assert lines("--sim-mode=replay") == [line.replace("[1, 2, 1, 2, 3]", "[]") for line in first]


def test_a_script_that_was_not_played_to_its_end_fails_the_test(suite: Suite) -> None:
    suite.tests(
        AGENT
        + """
    def test_left(sim_tools, scripted_model):
        model = scripted_model("hello", AIMessage("more", tool_calls=[call("bash", command="ls")]))
        assert go(create_agent(model, sim_tools([bash]))) == "hello"

    def test_failed_already(scripted_model):
        scripted_model("hello")
        assert False, "for another reason"
    """
    )
    result = suite.run()
    result.assert_outcomes(failed=2)
    text = said(result)
    assert "1 of the 2 replies of a scripted model were never asked for:" in text
    assert "- 'more' bash({'command': 'ls'})" in text
    assert text.count("never asked for:") == 1


def test_a_missing_package_is_named_with_the_command_that_installs_it(suite: Suite) -> None:
    suite.file(
        "block/langchain_core.py", "raise ModuleNotFoundError('gone', name='langchain_core')"
    )
    suite.file("block/mcp.py", "raise ModuleNotFoundError('gone', name='mcp')")
    suite.tests("""
        import sys
        sys.path.insert(0, "block")

        def test_tools(sim_tools): sim_tools([])

        def test_model(scripted_model): scripted_model("a")

        def test_mcp(sim_mcp): sim_mcp.server()
    """)
    result = suite.run_outside()
    result.assert_outcomes(failed=3)
    assert said(result).count("pip install 'agentworld-sim[graphs]'") >= 2
    assert "pip install 'agentworld-sim[mcp]'" in said(result)
