"""sqlite3 works on files of the world alone, by the world's clock and chance, and ends in time."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import sleep

import pytest

from agentworld_sim.engines.shell.machine import ShellLimits
from agentworld_sim.errors import EngineFailure

from .conftest import MachineShell, MakeMachine
from .limited import Kept, once


def test_a_database_is_a_real_file_of_the_world(
    machine_shell: MachineShell, tmp_path: Path
) -> None:
    machine_shell.out('sqlite3 a.db "create table t(x); insert into t values(42)"')
    (tmp_path / "a.db").write_bytes(machine_shell.live.files.read("/root/a.db"))
    assert sqlite3.connect(tmp_path / "a.db").execute("select x from t").fetchall() == [(42,)]
    # One that a program left in the mode of a write-ahead log is read too.
    with sqlite3.connect(tmp_path / "w.db") as made:
        made.execute("pragma journal_mode=wal")
        made.execute("create table w(y)")
    made.close()
    machine_shell.live.files.write("/root/w.db", (tmp_path / "w.db").read_bytes())
    assert machine_shell.out("sqlite3 w.db .tables").strip() == "w"


def test_time_and_chance_are_the_worlds(make_machine: MakeMachine) -> None:
    script = (
        "sqlite3 '' \"select current_timestamp, date(), datetime('now', '-1 day', 'localtime'), unixepoch(),"
        ' random(), hex(randomblob(4))"; openssl rand -hex 8'
    )
    one, same, other = make_machine(), make_machine(), make_machine(seed=8)
    said = one.out(script)
    assert said.startswith("2026-03-02 09:00:00|2026-03-02|2026-03-01 09:00:00|1772442000|")
    assert (said == same.out(script), said == other.out(script)) == (True, False)


@pytest.mark.parametrize(
    "statement",
    [
        "attach '{host}' as h; select * from h.t",
        "attach 'file:{host}?mode=ro' as h; select * from h.t",
        "vacuum into '{host}.copy'",
        "pragma temp_store_directory='{host}'",
        "pragma temp_store=1",
        "pragma hard_heap_limit=1",
        "select load_extension('{host}')",
    ],
)
def test_no_statement_reaches_a_file_of_the_host(
    machine_shell: MachineShell, tmp_path: Path, statement: str
) -> None:
    host = tmp_path / "host.db"
    with sqlite3.connect(host) as made:
        made.execute("create table t as select 'secret' as s")
    made.close()
    machine_shell.run("sqlite3 a.db 'create table b(c)'")
    said = machine_shell.run(f'sqlite3 a.db "{statement.format(host=host)}"')
    assert "secret" not in said.stdout
    assert (said.exit_code != 0, said.stderr != "") == (True, True)
    assert [path.name for path in tmp_path.iterdir()] == ["host.db"]


def test_a_statement_without_an_end_is_stopped() -> None:
    endless = "with recursive c(x) as (select 1 union all select x+1 from c) select max(x) from c"
    kept = Kept(limits=ShellLimits(wall_seconds=0.5))
    assert kept(f'sqlite3 "" "{endless}"').ending == "timeout"
    sleep(0.3)  # It ends a moment after its turn.


def test_what_has_no_answer_here_is_refused() -> None:
    rows = (
        "with recursive c(x) as (select 1 union all select x+1 from c limit 400000) select x from c"
    )
    for script in (
        f'sqlite3 "" "{rows}"',
        "sqlite3 '' '.backup b'",
        "openssl genrsa 2048",
        "openssl dgst -sign k f",
    ):
        with pytest.raises(EngineFailure, match="not computed faithfully"):
            once(script)


def test_what_cannot_be_read_or_written_is_said(machine_shell: MachineShell) -> None:
    assert machine_shell.fails('mkdir d; sqlite3 d "select 1"') == (
        'Error: unable to open database "d": unable to open database file\n', 1,
    )  # fmt: skip
    assert machine_shell.fails("sqlite3 a.db .bogus")[1] == 1
    assert machine_shell.fails("sqlite3 a.db '.import one'") == (
        "Error: invalid arguments: .import one\n", 1,
    )  # fmt: skip
    said = machine_shell.fails("echo junkjunkjunkjunk > j; sqlite3 j .tables")
    assert said == ("Error: file is not a database\n", 1)
    assert machine_shell.fails("sqlite3 a.db '.output no/x' 'select 1'") == (
        "Error: No such file or directory\n", 1,
    )  # fmt: skip
