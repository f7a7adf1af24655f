"""Several processes that answer on one port, and the one that watches over them.

uvicorn's own supervisor cannot take our server class, waits for open event streams when it ends, and leaves with
other exit codes.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from agentworld_mcp_shim._http._dispatch import DispatchedSocket, dispatch
from agentworld_mcp_shim._http._serving import Plan, allow_open_files, serve_plan
from agentworld_mcp_shim._stdio import SETTLE_SECONDS
from agentworld_sim.errors import WorldFailure

logger = logging.getLogger(__name__)

START_TRIES = 3
"""Deaths of one worker in a row before it ever accepted connections, after which we give up."""

PAUSE_SECONDS = 0.5
"""Before a worker that died is started again."""


class _Worker:
    """One process, through its deaths."""

    def __init__(self, number: int, plan: Plan) -> None:
        self.number = number
        self._plan = replace(plan, process=number)
        # Kept through its deaths, with the connections that it was given and has not taken.
        self.inbox, self._outlet = socket.socketpair()
        self.inbox.setblocking(False)
        self._failures = 0
        self.ready = False
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.process: BaseProcess = context.Process(
            target=_work,
            args=(self._plan, self._outlet, logging.getLogger().level),
            name=f"agentworld-mcp-{self.number}",
        )
        self.process.start()
        self.ready = False

    @property
    def signs(self) -> list[socket.socket | int]:
        """What becomes readable when there is news of it."""
        return [self.process.sentinel] if self.ready else [self.process.sentinel, self.inbox]

    def receive_ready(self) -> None:
        """Takes what it said, which is only that it is ready."""
        with suppress(BlockingIOError):
            self.ready = bool(self.inbox.recv(1))
            self._failures = 0

    def again(self) -> None:
        """Starts it again after it died.

        Raises:
            WorldFailure: it never gets as far as accepting connections.
        """
        code = self.process.exitcode
        self._failures += not self.ready
        if self._failures >= START_TRIES:
            raise WorldFailure(
                f"worker {self.number} ended {START_TRIES} times before it could answer, last with"
                f" exit code {code}. What it said is above."
            )
        logger.warning("worker %d ended with exit code %s; it is started again", self.number, code)
        self.start()


def watch_over(plan: Plan, listening: socket.socket, *, ready: Callable[[], None]) -> int:
    """Keeps the workers running until a signal comes; gives the exit code.

    Raises:
        WorldFailure: a worker cannot be brought up.
    """
    assert plan.settings.http is not None
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    codes: list[int] = []

    def ending(number: int, frame: object) -> None:
        codes.append(128 + number)
        os.write(telling, b".")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ending)
    allow_open_files()
    workers: list[_Worker] = []
    try:
        for number in range(plan.settings.http.workers):
            workers.append(_Worker(number, plan))
        announced = False
        while not codes:
            wait([told, *(sign for worker in workers for sign in worker.signs)])
            for worker in workers:
                worker.receive_ready()
                if not worker.process.is_alive() and not codes:
                    _mark_dead(plan, worker.process.pid)
                    time.sleep(PAUSE_SECONDS)
                    worker.again()
            if not announced and all(worker.ready for worker in workers):
                announced = True
                listening.listen(socket.SOMAXCONN)
                inboxes = [worker.inbox for worker in workers]
                threading.Thread(target=dispatch, args=(listening, inboxes), daemon=True).start()
                ready()
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        _end([worker.process for worker in workers])
        os.close(told)
        os.close(telling)
    return codes[0]


def _mark_dead(plan: Plan, process: int | None) -> None:
    from prometheus_client import multiprocess

    # Typed as what it is: the package says nothing of its arguments.
    mark: Callable[[int | None, str], None] = vars(multiprocess)["mark_process_dead"]
    mark(process, str(plan.run.folder))


def _end(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        process.terminate()
    until = time.monotonic() + SETTLE_SECONDS + 2
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()


def _work(plan: Plan, outlet: socket.socket, level: int) -> None:
    """What a worker does."""
    from agentworld_mcp_shim._command._upstream_options import log_to_stderr
    from agentworld_sim.errors import AgentworldError

    log_to_stderr(level <= logging.INFO)
    listening = DispatchedSocket(fileno=outlet.detach())
    listening.setblocking(False)
    threading.Thread(target=_follow_parent, name="parent", daemon=True).start()
    try:
        code = asyncio.run(serve_plan(plan, listening, ready=lambda: listening.sendall(b".")))
    except AgentworldError as error:
        logger.error("%s", error)
        code = error.exit_code
    # Threads that work for nobody any more must not hold up the end.
    os._exit(code)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
