"""A model server as a process: started, watched until it is healthy, stopped as a whole."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import httpx2

from agentworld_sim.errors import WorldFailure
from agentworld_sim.serving._command import ServerCommand
from agentworld_sim.serving._log import hint_for, phase_of

GUARD = Path(__file__).with_name("_guard.py")

SHOWN = 15
"""Lines of the log that a failure tells."""

KEPT = 400
"""Lines of the log that are remembered."""

POLL_SECONDS = 0.25

GRACE = 10.0
"""Seconds for stopping by itself. With a request under way all of it is used: vLLM (0.32) kills its
engine at once and then waits without end for the clients, whose answers cannot come any more."""

_LINE_END = re.compile(rb"[\r\n]+")


class ServerFailure(WorldFailure):
    """The model server did not come up, or died."""


class ModelServer:
    """Starts the server on entering, and has stopped all its processes when the block is left.

    They are stopped also if this process is killed: a small process between the two sees to it.

        with ModelServer(command) as server:
            print(server.url)
    """

    def __init__(
        self,
        command: ServerCommand,
        *,
        timeout: float = 3600.0,
        grace: float = GRACE,
        log_file: str | os.PathLike[str] | None = None,
        on_phase: Callable[[str], None] | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Prepares it; nothing is started.

        Args:
            command: What to run, from `build_command`.
            timeout: Seconds until it must be healthy.
            grace: Seconds it has for stopping by itself.
            log_file: Where its log is written as well; only its owner can read it.
            on_phase: Called, from another thread, when the log tells of a new phase of the start.
            on_line: Called, from another thread, with each line of the log.
        """
        self.command = command
        self._timeout = timeout
        self._grace = grace
        self._log_path = Path(log_file) if log_file is not None else None
        self.on_phase = on_phase
        self._on_line = on_line
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._phase: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._ended = threading.Event()
        self._private: Path | None = None

    @property
    def url(self) -> str:
        """The base URL of its API, with `/v1`."""
        return self.command.url

    @property
    def model(self) -> str:
        """What requests call the model."""
        return self.command.served_model_name

    @property
    def log(self) -> list[str]:
        """The last lines of its log; a key in them is replaced by `***`."""
        return list(self._lines)

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_until_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the processes and returns at once."""
        argv = list(self.command.argv)
        if self.command.key_file:
            argv[3:3] = ["--config", str(self._write_key())]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(self._grace), *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.command.environment(os.environ),
            # Out of reach of the terminal's Ctrl-C, which is ours to handle.
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name="model-server-log", daemon=True)
        self._reader.start()

    def wait_until_healthy(self) -> None:
        """Returns when it answers.

        Raises:
            ServerFailure: it died, or the time is over; the message has its last lines and, where the
                cause is a known one, what to do.
        """
        deadline = time.monotonic() + self._timeout
        # Proxies of the environment do not apply to a server on this machine.
        with httpx2.Client(timeout=10.0, trust_env=False) as client:
            while not self._healthy(client):
                if self._ended.wait(POLL_SECONDS):
                    raise self._failure("ended before it was healthy")
                if time.monotonic() > deadline:
                    raise self._failure(f"was not healthy within {self._timeout:.0f} s (--timeout)")
        self._remove_key()

    def join(self) -> None:
        """Waits until it ends by itself.

        Raises:
            ServerFailure: it did.
        """
        # With a limit, so that signals are handled meanwhile on every platform.
        while not self._ended.wait(1.0):
            pass
        raise self._failure("ended")

    def stop(self) -> None:
        """Stops every process of it: asked first, made to after the grace time."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait()
        except BaseException:
            # A second Ctrl-C: no more patience. The guard kills the group and follows.
            process.terminate()
            process.wait()
            raise
        finally:
            if self._reader is not None:
                # It ends with the last process that could write to the log.
                self._reader.join(5.0)
            self._remove_key()
            self._process = None

    def _healthy(self, client: httpx2.Client) -> bool:
        key = self.command.api_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            if client.get(f"{self.command.root_url}/health", headers=headers).status_code != 200:
                return False
            return client.get(f"{self.url}/models", headers=headers).status_code == 200
        except httpx2.HTTPError:
            return False

    def _failure(self, what: str) -> ServerFailure:
        process = self._process
        code = process.poll() if process is not None else None
        lines = [line for line in self._lines if line.strip()]
        said = "\n".join(f"  {line}" for line in lines[-SHOWN:]) or "  (nothing)"
        text = f"the model server {what}"
        if code is not None:
            text += f" (exit code {code})"
        text += f". Its last lines:\n{said}"
        if hint := hint_for(lines):
            text += f"\n{hint}"
        if self._log_path is not None:
            text += f"\nThe whole log: {self._log_path}"
        return ServerFailure(text)

    def _read(self) -> None:
        process = self._process
        assert process is not None and process.stdout is not None
        rest = b""
        file = self._open_log()
        try:
            while chunk := os.read(process.stdout.fileno(), 65536):
                # Progress bars end their lines with a carriage return.
                *whole, rest = _LINE_END.split(rest + chunk)
                for line in whole:
                    self._take(line, file)
            if rest:
                self._take(rest, file)
        finally:
            process.stdout.close()
            if file is not None:
                file.close()
            process.wait()
            self._ended.set()

    def _take(self, raw: bytes, file: IO[str] | None) -> None:
        line = self._redacted(raw.decode("utf-8", "replace"))
        self._lines.append(line[:4000])
        if file is not None:
            file.write(line + "\n")
            file.flush()
        if self._on_line is not None:
            self._on_line(line)
        phase = phase_of(line)
        if phase is not None and phase != self._phase:
            self._phase = phase
            if self.on_phase is not None:
                self.on_phase(phase)

    def _redacted(self, line: str) -> str:
        # SGLang writes all its arguments to the log when it starts, also the key.
        key = self.command.api_key
        return line.replace(key, "***") if key else line

    def _open_log(self) -> IO[str] | None:
        if self._log_path is None:
            return None
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        return open(self._log_path, "w", encoding="utf-8", opener=_only_owner)

    def _write_key(self) -> Path:
        self._private = Path(tempfile.mkdtemp(prefix="agentworld-"))
        file = self._private / "key.yaml"
        settings: dict[str, Any] = {"api-key": self.command.api_key}
        with open(file, "w", encoding="utf-8", opener=_only_owner) as opened:
            # JSON is YAML, and quotes whatever a key may hold.
            json.dump(settings, opened)
        return file

    def _remove_key(self) -> None:
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)
            self._private = None


def _only_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
