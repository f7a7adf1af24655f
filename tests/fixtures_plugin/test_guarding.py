"""Which tests are guarded, and how an attempt fails them."""

from __future__ import annotations

from .conftest import Suite, said

SWALLOWED = """
    import subprocess

    def tries():
        try:
            subprocess.run(["git", "status"])
        except BaseException:
            pass
"""


def test_an_attempt_fails_each_test_with_a_world_also_when_it_was_swallowed(suite: Suite) -> None:
    suite.tests(
        SWALLOWED
        + """
    def test_world(world): tries()
    def test_tools(sim_tools): tries()
    def test_shell(sim_shell): tries()
    def test_mcp(sim_mcp): tries()
    def test_module(module_world): tries()
    def test_session(session_world): tries()
    def test_none(no_real_tools):
        tries()
        assert [v.what for v in no_real_tools.violations] == ["started a program: ['git', 'status']"]
    @pytest.mark.sim
    def test_marked(): tries()
    @pytest.fixture
    def indirect(module_world): return 1
    def test_indirect(indirect): tries()
    def test_late(request):
        request.getfixturevalue("world")
        tries()
    async def test_async(world): tries()
    """
    )
    result = suite.run()
    result.assert_outcomes(failed=11)
    text = said(result)
    assert text.count("started a program: ['git', 'status']") >= 11
    assert "at test_it.py:7 in tries" in text
    assert "_runs.py" not in text, "where it was noticed tells nobody anything"


def test_an_attempt_is_shown_at_the_line_of_the_project_that_led_to_it(suite: Suite) -> None:
    suite.tests("""
        import os
        from langchain.agents import create_agent
        from langchain_core.messages import AIMessage
        from langchain_core.tools import tool

        @tool
        def bash(command: str) -> str:
            "Run a command."
            return os.popen(command).read()

        def test_forgot_to_simulate(world, scripted_model):
            call = {"name": "bash", "args": {"command": "true"}, "id": "1"}
            model = scripted_model(AIMessage("", tool_calls=[call]), "done")
            create_agent(model, [bash]).invoke({"messages": [("user", "go")]})

        def test_body(no_real_tools):
            os.popen("true")
    """)
    result = suite.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines_random(
        [
            ">       create_agent(model, [[]bash[]]).invoke(*",
            '>       os.popen("true")',
            "*Simulate the tool, as sim_tools does, or let it run: *",
        ]
    )
    text = said(result)
    assert "the tool 'bash' was called for real" in text
    for elsewhere in ("langgraph/pregel", "contextlib.py", "subprocess.py"):
        assert elsewhere not in text
    assert "subprocess.py" in said(suite.run("--full-trace"))


def test_other_tests_and_fixtures_are_left_alone_unless_all_are_guarded(suite: Suite) -> None:
    suite.tests("""
        import subprocess

        @pytest.fixture
        def prepared():
            subprocess.run(["true"], check=True)
            yield
            subprocess.run(["true"], check=True)

        def test_free(): subprocess.run(["true"], check=True)

        def test_prepared(prepared, world): pass

        def test_scripted(scripted_model): subprocess.run(["true"], check=True)
    """)
    suite.run().assert_outcomes(passed=3)
    result = suite.run("--sim-guard=all")
    result.assert_outcomes(passed=1, failed=2)
    suite.ini("sim_guard = all")
    suite.run().assert_outcomes(passed=1, failed=2)
    suite.run("--sim-guard=worlds").assert_outcomes(passed=3)


def test_a_test_may_write_into_its_temporary_folder_and_nowhere_else(suite: Suite) -> None:
    suite.tests("""
        from pathlib import Path

        def test_fine(world, tmp_path):
            (tmp_path / "a").write_text("x")

        def test_wrong(world):
            Path("here").write_text("x")
    """)
    result = suite.run()
    result.assert_outcomes(passed=1, failed=1)
    assert not (suite.path / "here").exists()


def test_the_attempt_is_a_note_where_a_test_failed_for_another_reason(suite: Suite) -> None:
    suite.tests(
        SWALLOWED
        + """
    def test_one(world):
        tries()
        assert 1 == 2
    """
    )
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*assert 1 == 2",
            "E*Real effects were stopped in this test:",
            "E*- tries() started a program*",
        ]
    )


def test_real_tools_run_only_where_their_name_is_allowed(suite: Suite) -> None:
    suite.tests("""
        from langchain_core.tools import BaseTool, tool
        import subprocess

        @tool
        def echo(text: str) -> str:
            "Echoes."
            return subprocess.run(["echo", text], capture_output=True, text=True).stdout

        class Own(BaseTool):
            name: str = "own"
            description: str = "Echoes."
            def _run(self, text: str) -> str:
                return echo.func(text)

        def test_refused(world): echo.invoke({"text": "x"})

        @pytest.mark.sim(allow_real=["echo", "own"], mode="off")
        def test_allowed(sim_tools):
            for one in sim_tools([echo, Own()]):
                assert one.invoke({"text": "x"}) == "x\\n"

        @pytest.mark.sim(allow_real=["echo", "own"], mode="off")
        async def test_allowed_async(sim_tools):
            for one in sim_tools([echo, Own()]):
                assert await one.ainvoke({"text": "x"}) == "x\\n"
    """)
    result = suite.run()
    result.assert_outcomes(passed=2, failed=1)
    assert "the tool 'echo'" in said(result)
    assert "--sim-allow-real echo" in said(result)


def test_servers_are_reached_only_where_their_url_is_allowed(suite: Suite) -> None:
    suite.tests("""
        import socket

        def reach(port):
            # Nothing is waited for: what counts is that it may be tried.
            with socket.socket() as attempt:
                attempt.setblocking(False)
                attempt.connect_ex(("192.0.2.1", port))

        def test_refused(world): reach(80)

        @pytest.mark.sim(allow_urls=["http://192.0.2.1/v1"])
        def test_marker(world): reach(80)

        @pytest.mark.sim(allow_urls="http://192.0.2.1:81")
        def test_other_port(no_real_tools): reach(80)
    """)
    result = suite.run()
    result.assert_outcomes(passed=1, failed=2)
    assert "test_refused" in said(result)
    assert "is allowed with --sim-allow-url URL or" in said(result)
    # The marker's list goes before the option's.
    result = suite.run("--sim-allow-url=http://me:secret@192.0.2.1/v1")
    result.assert_outcomes(passed=2, failed=1)
    assert "reachable: http://192.0.2.1" in said(result)
    assert "secret" not in said(result)
    suite.ini("sim_allow_urls = http://192.0.2.1")
    suite.run().assert_outcomes(passed=2, failed=1)


def test_an_attempt_counts_also_in_a_test_that_ends_itself(suite: Suite) -> None:
    suite.tests("""
        import subprocess, unittest

        def attempt():
            try:
                subprocess.run(["true"])
            except BaseException:
                pass

        def test_skipped(world):
            attempt()
            pytest.skip("not now")

        def test_expected(world):
            attempt()
            pytest.xfail("known")

        @pytest.mark.usefixtures("world")
        class Test(unittest.TestCase):
            def test_passes(self):
                attempt()

            def test_skipped(self):
                attempt()
                self.skipTest("not now")
    """)
    result = suite.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["attempt() started a program: *"])


def test_a_test_says_what_its_guard_lets_pass_or_that_it_has_none(suite: Suite) -> None:
    suite.tests("""
        import subprocess
        from pathlib import Path

        @pytest.fixture(scope="session")
        def folder(tmp_path_factory):
            import tempfile
            with tempfile.TemporaryDirectory() as made:
                yield Path(made)

        def test_folder_of_a_session(world, folder): (folder / "a").write_text("x")

        @pytest.mark.sim(allow_paths="out", allow_programs=["true"])
        def test_allowed(world):
            subprocess.run(["true"], check=True)
            (Path(__file__).parent / "out").write_text("x")

        @pytest.mark.sim(guard=False)
        def test_none(world): subprocess.run(["true"], check=True)

        def test_guarded(world): subprocess.run(["true"], check=True)
    """)
    suite.run().assert_outcomes(passed=3, failed=1)
    suite.run("--sim-guard=off").assert_outcomes(passed=4)
    suite.run("--sim-allow-program=true").assert_outcomes(passed=4)
    result = suite.run("--sim-allow-path=/")
    assert "'/' is every file." in said(result)


def test_what_a_thread_does_after_its_test_is_told_of_that_test(suite: Suite) -> None:
    suite.tests("""
        import subprocess, threading

        go, done = threading.Event(), threading.Event()

        def work():
            go.wait(10)
            try:
                subprocess.run(["true"], check=False)
            except BaseException:
                done.set()

        def test_starts(world): threading.Thread(target=work).start()

        def test_next(world):
            go.set()
            assert done.wait(10)
    """)
    result = suite.run()
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["stopped, and *: test_it.py::test_starts went on after its end: *"]
    )
