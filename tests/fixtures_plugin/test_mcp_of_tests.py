"""`sim_mcp`: the shim in front of the test's world, for clients in this process and in others."""

from __future__ import annotations

import pytest

from .conftest import Suite, said


def test_clients_in_this_process_call_into_the_test_s_world(suite: Suite) -> None:
    suite.tests("""
        from mcp.types import Tool
        from agentworld_sim import ToolSpec

        RUN = {
            "name": "run",
            "description": "Runs.",
            "inputSchema": {
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
            },
        }

        async def test_own_tools(world, sim_mcp, sim_shell):
            sim_shell("echo hello > /tmp/a")
            async with sim_mcp() as client:
                assert "sim_shell" not in [tool.name for tool in (await client.list_tools()).tools]
                answer = await client.call_tool("bash", {"command": "cat /tmp/a; echo b > /tmp/b"})
            assert answer.content[0].text == "hello\\n"
            assert answer.meta["agentworld/simulated"]["provenance"] == "computed"
            assert sim_shell("cat /tmp/b").output == "b\\n"
            world.assert_called("bash", times=1)

        @pytest.mark.parametrize("mode", ["auto", "legacy"])
        @pytest.mark.parametrize(
            "offered",
            [
                [RUN],
                {"tools": [RUN]},
                [Tool.model_validate(RUN)],
                [ToolSpec(name="run", description="Runs.", input_schema=RUN["inputSchema"])],
            ],
            ids=["list", "result", "type", "spec"],
        )
        async def test_given_tools(world, sim_mcp, offered, mode):
            async with sim_mcp(offered, binds_to={"run": "terminal/bash"}, mode=mode) as client:
                (tool,) = (await client.list_tools()).tools
                assert (tool.name, tool.description) == ("run", "Runs.")
                answer = await client.call_tool("run", {"command": "echo x"})
                assert answer.content[0].text == "x\\n"
            world.assert_called("run", args={"command": "echo x"})

        def test_sync(world, sim_mcp):
            with sim_mcp([RUN], binds_to={"run": "terminal/bash"}) as client:
                world.fail("run", error="no disk")
                assert [tool.name for tool in client.list_tools().tools] == ["run"]
                failed = client.call_tool("run", {"command": "ls"})
                assert "no disk" in failed.content[0].text
                assert client.wait("call_tool", "run", {"command": "ls"}).is_error == failed.is_error

        def test_unbound(sim_mcp):
            with sim_mcp([{**RUN, "name": "make_coffee"}]) as client:
                answer = client.call_tool("make_coffee", {"command": "x"})
            assert answer.is_error
            assert "was not called" in answer.content[0].text
    """)
    suite.run().assert_outcomes(passed=11)


def test_what_fails_while_a_client_is_connected_is_told_as_it_is(suite: Suite) -> None:
    suite.tests("""
        async def test_async(sim_mcp):
            async with sim_mcp() as client:
                said = (await client.call_tool("bash", {"command": "echo a"})).content[0].text
                assert said == "b\\n"

        def test_sync(sim_mcp):
            with sim_mcp() as client:
                assert client.call_tool("bash", {"command": "echo a"}).content[0].text == "b\\n"

        def test_group(sim_mcp):
            with pytest.raises(ExceptionGroup, match="^mine"), sim_mcp():
                raise ExceptionGroup("mine", [ValueError("one")])

        def test_wrong_tool(sim_mcp):
            with sim_mcp() as client:
                client.call_tool("bsh")
    """)
    result = suite.run()
    result.assert_outcomes(passed=1, failed=3)
    text = said(result)
    assert "AssertionError: assert 'a\\n' == 'b\\n'" in text
    assert "MCPError: Unknown tool: bsh" in text
    assert "Exception Group" not in text


def test_a_snapshot_lies_beside_the_test(suite: Suite) -> None:
    suite.file(
        "sub/git.json",
        """
        {"agentworld_snapshot": 1, "server_info": {"name": "git", "version": "1"},
         "capabilities": {"tools": {}},
         "lists": {"tools/list": [{"cursor": null, "page": {"tools": [
            {"name": "bash", "inputSchema": {"type": "object",
             "properties": {"command": {"type": "string"}}, "required": ["command"]}}]}}]}}
        """,
    )
    suite.tests(
        """
        def test_one(sim_mcp):
            with sim_mcp("git.json") as client:
                assert client.client.server_info.name == "git"
                assert client.call_tool("bash", {"command": "echo x"}).content[0].text == "x\\n"
        """,
        name="sub/test_it.py",
    )
    suite.run().assert_outcomes(passed=1)


def test_a_client_that_starts_its_servers_itself_reaches_the_test_s_world(suite: Suite) -> None:
    suite.tests("""
        from mcp import Client, StdioServerParameters

        async def told(server, command, mode="auto"):
            parameters = StdioServerParameters(command=server.command, args=server.args, env=server.env)
            async with Client(parameters, mode=mode, cache=None) as client:
                answer = await client.call_tool("bash", {"command": command})
            return answer.content[0].text

        async def test_one(world, sim_mcp):
            world.fail("bash", when={"command": "reboot"}, error="not now")
            server = sim_mcp.server()
            assert await told(server, "echo x > /tmp/x; cat /tmp/x") == "x\\n"
            # Another process, in the older protocol: the same world.
            assert await told(server, "cat /tmp/x", mode="legacy") == "x\\n"
            assert "not now" in await told(server, "reboot")
            world.assert_called("bash", times=3)
            secret = next(iter(server.env.values()))
            assert secret not in " ".join(server.args) and secret not in repr(server)

        async def test_other_programs_are_stopped(world, sim_mcp):
            server = sim_mcp.server()
            server.args[:] = ["-c", "print(1)"]
            await told(server, "ls")
    """)
    # The SDK keeps the standard error of its first import, which is gone with that session.
    result = suite.run_outside()
    result.assert_outcomes(passed=1, failed=1)
    assert "print(1)" in said(result)


def test_only_who_knows_the_secret_of_the_test_is_served(suite: Suite) -> None:
    suite.tests("""
        import socket

        def test_one(sim_mcp, world):
            port = int(next(iter(sim_mcp.server().env.values())).partition(":")[0])
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"guessed\\n{}\\n")
                assert stranger.recv(100) == b""
            assert world.calls() == []
    """)
    suite.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        (
            "3",
            "the tools of the server are of type 'int': give the file of a snapshot, the result of",
        ),
        (
            "{'tool': []}",
            "the tools of the server are a mapping with 'tool': give the file of a snapshot, the result of `tools/list`, which has a list",
        ),
        ("[3]", "among the tools of the server is 3. A tool is an object of `tools/list`"),
        ("'nowhere.json'", "there is no snapshot"),
        ("None, binds_to={'a': 'terminal/bash'}", "binds_to goes with tools that are given"),
    ],
)
def test_what_no_server_can_offer_is_refused(suite: Suite, offered: str, message: str) -> None:
    suite.tests(f"""
        def test_one(sim_mcp):
            sim_mcp.server({offered})
    """)
    result = suite.run()
    result.assert_outcomes(failed=1)
    assert message in said(result)
