"""Several processes on one port and one store."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agentworld_sim.store import SqliteStore
from mcp import MCPError
from tests.mcp.http.conftest import ACCEPT, Serve, Served, calling, said, world_of

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

pytestmark = pytest.mark.slow
"""`test_control_tools` has two workers in the fast tier."""


def workers(served: Served) -> list[int]:
    """The processes that answer."""
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text()
    found = [int(child) for child in children.split()]
    return [one for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def calls_by_process(served: Served) -> int:
    """How many processes have counted a call."""
    opened = (os.readlink(link) for link in Path(f"/proc/{workers(served)[0]}/fd").iterdir())
    (folder,) = {Path(file).parent for file in opened if "/gauge_" in file}
    return len(list(folder.glob("histogram_*.db")))


async def test_two_processes_lose_nothing_that_eight_clients_do_to_one_world(serve: Serve) -> None:
    served = serve("--workers", "2")
    counting = (
        'n=$(cat /srv/n 2>/dev/null || echo 0); echo $((n + 1)) > /srv/n; echo x >> "/srv/{}"'
    )

    async def work(number: int) -> None:
        mode = "auto" if number % 2 else "legacy"
        async with served.client(mode, path="/worlds/shared/mcp", anywhere=True) as client:
            for _ in range(10):
                await said(client, counting.format(number))

    await asyncio.gather(*(work(number) for number in range(8)))
    assert calls_by_process(served) == 2
    async with served.client(path="/worlds/shared/mcp") as client:
        assert await said(client, "cat /srv/n; cat /srv/? | wc -l") == "80\n81\n"


async def test_a_session_works_whichever_process_hears_it(serve: Serve) -> None:
    served = serve("--workers", "2")
    session = {"mcp-session-id": served.begin(), **ACCEPT}

    async def call(number: int, *, anywhere: bool = False) -> str:
        # A connection of its own each time.
        async with httpx2.AsyncClient(timeout=60) as client:
            if anywhere:
                await client.get(f"{served.base}/healthz")
            answer = await client.post(
                f"{served.base}/mcp",
                json=calling("echo x >> /srv/n; wc -l < /srv/n", number),
                headers=session,
            )
        (data,) = (line for line in answer.text.splitlines() if line.startswith("data: "))
        return json.loads(data.removeprefix("data: "))["result"]["content"][0]["text"].strip()

    assert [await call(number) for number in range(4)] == ["1", "2", "3", "4"]
    assert calls_by_process(served) == 1
    counts = [await call(number, anywhere=True) for number in range(4, 12)]
    assert counts == [str(number) for number in range(5, 13)]
    assert calls_by_process(served) == 2
    gone = httpx2.delete(f"{served.base}/mcp", headers=session)
    after = [served.post(calling("true"), session).status_code for _ in range(8)]
    assert (gone.status_code, after) == (200, [404] * 8)
    assert served.get("/mcp", session).status_code == 405


async def test_fifty_clients_each_have_their_own_world(serve: Serve) -> None:
    served = serve("--workers", "2")

    async def work(number: int) -> tuple[str, str]:
        async with served.client("legacy") as client:
            for _ in range(3):
                await said(client, f"echo {number} >> /srv/mine")
            return await world_of(client), await said(
                client, "sort -u /srv/mine; wc -l < /srv/mine"
            )

    seen = await asyncio.gather(*(work(number) for number in range(50)))
    assert len({world for world, _ in seen}) == 50
    assert [text.split() for _, text in seen] == [[str(number), "3"] for number in range(50)]


async def test_a_worker_that_is_killed_is_replaced_and_sessions_go_on(serve: Serve) -> None:
    served = serve("--workers", "2")
    async with served.client("legacy") as client:
        await said(client, "echo kept > /srv/x")
        before = workers(served)
        for one in before:
            os.kill(one, signal.SIGKILL)
        # The connection is gone with its process; the session is not.
        failures = 0
        while failures < 3:
            try:
                assert await said(client, "cat /srv/x") == "kept\n"
                break
            except (MCPError, httpx2.HTTPError):
                failures += 1
        assert failures < 3
    assert not set(workers(served)) & set(before)
    assert "ended with exit code -9; it is started again" in served.log.read_text(encoding="utf-8")


def test_workers_end_with_their_parent_however_it_ends(serve: Serve) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        served = serve("--workers", "2")
        ends = [os.pidfd_open(one) for one in workers(served)]
        assert len(ends) == 2
        served.process.send_signal(number)
        assert served.ended()[0] == (143 if number == signal.SIGTERM else -9)
        import select

        waiting = select.poll()
        for end in ends:
            waiting.register(end, select.POLLIN)
        for _ in ends:
            ((ended, _),) = waiting.poll(60_000)[:1]
            waiting.unregister(ended)


async def test_all_workers_count_together(serve: Serve) -> None:
    served = serve("--workers", "2")
    for _ in range(6):
        async with served.client() as client:
            await said(client, "true")
    counted: Counter[str] = Counter()
    for family in text_string_to_metric_families(served.get("/metrics").text):
        for sample in family.samples:
            if sample.name == "agentworld_mcp_calls_total":
                counted[sample.labels["tool"]] += int(sample.value)
    assert counted == {"bash": 6}


async def test_a_world_of_the_run_that_nobody_used_is_not_left_behind(
    serve: Serve, shim: Shim
) -> None:
    served = serve("--workers", "2")
    async with served.client() as client:
        await client.list_tools()
    served.process.terminate()
    assert served.ended()[0] == 143
    store = SqliteStore(shim.store)
    assert store.worlds() == []
    store.close()


def test_a_worker_that_cannot_start_ends_it_all_with_a_reason(shim: Shim, tmp_path: Path) -> None:
    import subprocess

    shim.home.mkdir()
    shim.store.write_text("this is no database, but long enough to be looked at as one")
    done = subprocess.run(
        shim.command("--http", "0", "--workers", "2", "--", "python", str(tmp_path / "none.py")),
        env=shim.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (2, 4)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("count", ["1", "2"])
def test_sigterm_lets_running_calls_finish_and_takes_back_those_that_do_not(
    serve: Serve, shim: Shim, count: str
) -> None:
    import threading

    served = serve("-v", "--workers", count, "--world", "w")
    path = "/worlds/w/mcp"
    session = {"mcp-session-id": served.begin()}
    served.post(calling("touch /srv/app/done"), session, path=path)
    endless = threading.Thread(
        target=lambda: _quietly(
            lambda: served.post(
                calling("touch /srv/app/half-done; while :; do :; done"), session, path=path
            )
        )
    )
    endless.start()
    answered = 0
    with served.log.open(encoding="utf-8") as log:
        while answered < 2:
            answered += log.readline().count("answering 'bash'")
    served.process.terminate()
    code, told = served.ended()
    endless.join()
    assert code == 143
    assert "Traceback" not in told, told
    store = SqliteStore(shim.store)
    state = store.state(store.world("w").head)
    store.close()
    assert sorted(one for one in state.files if one.startswith("/srv/app/")) == [
        "/srv/app/done",
        "/srv/app/note.txt",
    ]


def _quietly(work: object) -> None:
    from contextlib import suppress

    assert callable(work)
    with suppress(httpx2.HTTPError):
        work()
