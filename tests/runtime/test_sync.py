"""Synchronous calls: in forks of a process, and inside of each other."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from agentworld_sim import UsageError
from agentworld_sim.runtime.sync import TurnLock, run_sync

FORKING = """
import os, sys
from agentworld_sim.runtime.sync import run_sync

async def answer():
    return 42

assert run_sync(answer()) == 42
child = os.fork()
if not child:
    # Without the parent's loop, and through the ordinary end of a program.
    sys.exit(0 if run_sync(answer()) == 42 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


async def answer() -> int:
    return 42


async def nested() -> int:
    return run_sync(answer())


def test_a_fork_of_a_process_has_a_loop_of_its_own() -> None:
    # As multiprocessing does it on Linux before Python 3.14; 3.12 warns of the thread.
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], check=True, timeout=60)


def test_a_call_inside_of_another_one_is_refused_and_does_not_wait_for_ever() -> None:
    with pytest.raises(UsageError, match="Await the asynchronous method"):
        run_sync(nested())
    assert run_sync(answer()) == 42


async def test_a_synchronous_call_on_the_loop_of_one_that_goes_before_is_refused() -> None:
    held, done = asyncio.Event(), asyncio.Event()
    lock = TurnLock()

    async def hold() -> None:
        async with lock:
            held.set()
            await done.wait()

    async def take() -> int:
        async with lock:
            return 42

    holding = asyncio.create_task(hold())
    await held.wait()
    with pytest.raises(
        UsageError, match=r"both would wait for ever\. Await the asynchronous method"
    ):
        run_sync(take())
    # From another thread it only has to wait; and behind it the loop may not wait either.
    waiting = asyncio.create_task(asyncio.to_thread(run_sync, take()))
    done.set()
    await holding
    assert await waiting == 42
    assert run_sync(take()) == 42


async def test_a_synchronous_call_behind_one_that_waits_on_its_loop_is_refused() -> None:
    lock = TurnLock()
    assert lock.try_acquire()

    async def take() -> int:
        async with lock:
            return 42

    waiting = asyncio.create_task(take())
    await asyncio.sleep(0)
    with pytest.raises(UsageError, match="both would wait for ever"):
        run_sync(take())
    lock.release()
    assert await waiting == 42
