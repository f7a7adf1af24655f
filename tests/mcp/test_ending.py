"""However it ends, the exit code says how, standard output has protocol only, and the store is whole."""

from __future__ import annotations

import json
import signal
import sqlite3
from typing import TYPE_CHECKING

import pytest
from mcp.types import jsonrpc_message_adapter

from agentworld_sim.store import SqliteStore

if TYPE_CHECKING:
    from conftest import Pipes, Shim

ENDLESS = "touch /srv/app/half-done; while :; do :; done"


def files(shim: Shim, world: str) -> list[str]:
    """The files of a world's working folder, read from the store, which must be whole."""
    with sqlite3.connect(shim.store) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    store = SqliteStore(shim.store)
    state = store.state(store.world(world).head)
    store.close()
    return sorted(path for path in state.files if path.startswith("/srv/app/"))


def busy(pipes: Pipes) -> None:
    """Has one call answered and another under way."""
    pipes.call(1, "bash", command="touch /srv/app/done")
    assert "result" in pipes.receive()
    pipes.logged("answering 'bash'")
    pipes.call(2, "bash", command=ENDLESS)
    pipes.logged("answering 'bash'")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        (signal.SIGTERM, 143),
        pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow),
    ],
)
def test_a_signal_in_the_middle_of_a_call_keeps_what_was_answered_and_nothing_else(
    shim: Shim, raw_upstream: list[str], number: signal.Signals, code: int
) -> None:
    with shim.started("--world", "w", *raw_upstream, "one") as pipes:
        busy(pipes)
        pipes.process.send_signal(number)
        ended, said = pipes.ended()
    assert ended == code
    assert "Traceback" not in said
    assert files(shim, "w") == ["/srv/app/done", "/srv/app/note.txt"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_nothing_happens_ends_it_too(
    shim: Shim, raw_upstream: list[str], number: signal.Signals, code: int
) -> None:
    with shim.started(*raw_upstream, "one") as pipes:
        pipes.process.send_signal(number)
        assert pipes.ended()[0] == code


def test_a_client_that_leaves_in_the_middle_of_a_call_ends_it(
    shim: Shim, raw_upstream: list[str]
) -> None:
    with shim.started("--world", "w", *raw_upstream, "one") as pipes:
        busy(pipes)
        assert pipes.process.stdin is not None
        pipes.process.stdin.close()
        pipes.process.stdin = None
        ended, said = pipes.ended()
    assert ended == 0
    assert "Traceback" not in said
    assert files(shim, "w") == ["/srv/app/done", "/srv/app/note.txt"]


def test_a_cancelled_call_is_never_answered_and_stores_nothing(
    shim: Shim, raw_upstream: list[str]
) -> None:
    with shim.started("--world", "w", *raw_upstream, "one") as pipes:
        busy(pipes)
        pipes.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 2, "reason": "changed my mind"},
            }
        )
        pipes.call(3, "bash", command="ls /srv/app")
        answer = pipes.receive()
    assert answer["id"] == 3
    assert answer["result"]["content"][0]["text"] == "done\nnote.txt\n"


def test_standard_input_that_ends_at_once_is_a_clean_end(
    shim: Shim, raw_upstream: list[str]
) -> None:
    done = shim.run(*raw_upstream, "one")
    assert (done.returncode, done.stdout) == (0, "")


def test_standard_output_has_protocol_only(shim: Shim, raw_upstream: list[str]) -> None:
    calls = [
        {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "bash", "arguments": {"command": command}},
        }
        for number, command in enumerate(["echo out; echo err >&2", "printf 'no newline'", "("], 1)
    ]
    lines = [*map(json.dumps, calls), "this is not JSON", "[]", ""]
    with shim.started(*raw_upstream, "malformed") as pipes:
        stdin, stdout = pipes.process.stdin, pipes.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write("\n".join(lines) + "\n")
        stdin.flush()
        answers = [jsonrpc_message_adapter.validate_json(stdout.readline()) for _ in calls]
        pipes.call(9, "bash", command="echo still here")
        assert pipes.receive()["result"]["content"][0]["text"] == "still here\n"
    assert len(answers) == 3


def test_a_world_that_was_never_used_is_not_left_behind(
    shim: Shim, raw_upstream: list[str]
) -> None:
    shim.run(*raw_upstream, "one")
    store = SqliteStore(shim.store)
    assert store.worlds() == []
    store.close()


def test_the_upstream_is_gone_before_the_first_call(shim: Shim, raw_upstream: list[str]) -> None:
    with shim.started(*raw_upstream, "one") as pipes:
        pipes.call(1, "bash", command="true")
        assert "result" in pipes.receive()
        children = (f"/proc/{pipes.process.pid}/task/{pipes.process.pid}/children",)
        with open(children[0]) as file:
            assert file.read() == ""
