"""What goes wrong with a server: said clearly, nothing half-stored, and no password shown."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentworld_sim import PostgresStore, StoreError, UsageError, WorldStore
from agentworld_sim.store.home import open_store
from tests.postgres.server import PostgresServer, running
from tests.store.kept_stores_suite import whole_history
from tests.store.stores_suite import START, add_world, commit, has_blob, turn_after


@pytest.fixture
def store(where: str) -> Iterator[PostgresStore]:
    made = PostgresStore(where)
    yield made
    made.close()


def shown(error: BaseException) -> str:
    """All that anybody would see of it."""
    return "".join(traceback.format_exception(error)) + repr(error)


def no_server(server: PostgresServer) -> str:
    return server.url().replace(f":{server.port}/", ":1/")


def wrong_password(server: PostgresServer) -> str:
    return server.url(password="secret/that?is#wrong")


def unknown_user(server: PostgresServer) -> str:
    return server.url(user="stranger")


def no_database(server: PostgresServer) -> str:
    return server.url(database="nothing_here")


def no_schema(server: PostgresServer) -> str:
    return server.url(schema="nowhere")


def no_host(server: PostgresServer) -> str:
    return server.url().replace("127.0.0.1", "no-such-host.invalid")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (no_server, r"cannot connect to postgresql://tester@127\.0\.0\.1:1/worlds: .*refused"),
        (no_host, r"cannot connect to .*Check that the server runs"),
        (wrong_password, r"does not let this user in\. .*PGPASSWORD"),
        (unknown_user, r"does not let this user in\. .*PGPASSWORD"),
        (no_database, r"there is no such database: .*/nothing_here\. Make it with `createdb`"),
        (no_schema, r"the schema that .* is to use does not exist"),
    ],
)
def test_a_server_that_cannot_be_used_is_explained(
    postgres: PostgresServer, where: Callable[[PostgresServer], str], message: str
) -> None:
    with pytest.raises(StoreError, match=message) as raised:
        PostgresStore(where(postgres))
    seen = shown(raised.value)
    assert postgres.password not in seen
    assert "secret" not in seen


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:se/cret@host/db",
        "postgresql://u:se@cret@host/db",
        "postgresql://u:5?cret@host/db",
        "postgresql://u:5#cret@host/db",
        "postgresql://u:secret@host:port/db",
        "postgresql://u:secret@[host/db",
        "postgresql://u:secret@host/db?no_such_setting=1",
        "postgresql://u:secret@host/db?pass",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(UsageError, match="the store's URL") as raised:
        PostgresStore(url)
    assert "cret" not in shown(raised.value)


def test_tables_of_a_newer_release_are_left_alone(postgres: PostgresServer, where: str) -> None:
    open_store(where).close()
    with postgres.connect() as db:
        schema = where.rpartition("%3D")[2]
        db.execute(f"UPDATE {schema}.agentworld_layout SET version = 99".encode())
    with pytest.raises(StoreError, match="has version 99; this release reads up to 3"):
        open_store(where)


def test_tables_of_before_the_first_release_are_left_alone(
    postgres: PostgresServer, where: str
) -> None:
    open_store(where).close()
    with postgres.connect() as db:
        schema = where.rpartition("%3D")[2]
        db.execute(f"UPDATE {schema}.agentworld_layout SET version = 1".encode())
    with pytest.raises(StoreError, match="has version 1, of before the first release"):
        open_store(where)


def test_a_user_who_may_make_no_tables_is_told_what_to_grant(postgres: PostgresServer) -> None:
    with postgres.connect() as db:
        db.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
        schema = postgres.new_schema()
        db.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader".encode())
    with pytest.raises(StoreError, match="Grant it CREATE and USAGE"):
        PostgresStore(postgres.url(user="reader", password="reader", schema=schema))


def test_a_database_that_is_read_only_is_told_so(postgres: PostgresServer, where: str) -> None:
    PostgresStore(where).close()
    store = PostgresStore(f"{where}%20-cdefault_transaction_read_only%3Don")
    with pytest.raises(StoreError, match="cannot be written: it is a standby"):
        add_world(store)
    store.close()


def test_a_connection_cut_while_idle_is_made_anew(
    postgres: PostgresServer, store: PostgresStore
) -> None:
    add_world(store)
    cut(postgres)
    turn = commit(store, "one")
    cut(postgres)
    assert store.lineage(turn.ref) == [turn]


def cut(server: PostgresServer) -> None:
    """Ends all other connections, and waits until they are gone."""
    with server.connect() as db:
        db.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE application_name = 'agentworld'"
        )


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_comes_back_is_used_again(how: str) -> None:
    with running() as server:
        store = PostgresStore(server.url())
        add_world(store)
        kept = commit(store, "kept")
        server.stop(how)
        turn, blobs = turn_after(kept.ref, "lost", b"lost")
        with pytest.raises(StoreError, match="cannot connect to"):
            store.commit("w", turn, START, blobs, must_move_head=True)
        server.start()
        assert store.world("w").head == kept.ref
        assert not store.has(turn.ref) and not has_blob(store, b"lost")
        commit(store, "after")
        assert [one.call.arguments["text"] for one in whole_history(store, "w")] == [
            "kept",
            "after",
        ]
        store.close()


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_goes_in_the_middle_of_a_commit_stores_all_of_it_or_nothing(how: str) -> None:
    with running() as server:
        store = PostgresStore(server.url())
        add_world(store)
        kept = commit(store, "kept")
        turn, blobs = turn_after(kept.ref, "lost", b"lost")
        with server.connect() as other, other.transaction():
            # The commit waits for this row; the server goes while it does.
            other.execute("SELECT 1 FROM agentworld_worlds FOR UPDATE")
            threads = ThreadPoolExecutor(1)
            running_commit = threads.submit(
                lambda: store.commit("w", turn, START, blobs, must_move_head=True)
            )
            wait_until_somebody_waits(server)
            with pytest.raises(Exception, match=r"terminating|closed|lost|SSL|server"):
                server.stop(how)
                other.execute("SELECT 1")
        error = running_commit.exception(60)
        threads.shutdown()
        server.start()
        if error is None:
            # A server that ends in order lets go of the row a moment before it stops whoever waits.
            assert how == "fast"
        else:
            assert isinstance(error, StoreError) and "was lost at work" in str(error)
            assert store.world("w").head == kept.ref
            assert not store.has(turn.ref) and not has_blob(store, b"lost")
            assert store.commit("w", turn, START, blobs, must_move_head=True)
        assert store.world("w").head == turn.ref and has_blob(store, b"lost")
        assert len(whole_history(store, "w")) == 2
        store.close()


def wait_until_somebody_waits(server: PostgresServer) -> None:
    with server.connect() as db:
        while not db.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            pass


def test_a_sweep_lets_others_commit_between_its_batches(store: WorldStore, where: str) -> None:
    add_world(store, "long")
    parent = store.world("long").head
    for number in range(1200):
        turn, blobs = turn_after(parent, f"t{number}", b"%d" % number)
        store.commit("long", turn, START, blobs, must_move_head=True)
        parent = turn.ref
    add_world(store, "short")
    other = open_store(where)
    with ThreadPoolExecutor(1) as threads:
        removal = threads.submit(store.remove, "long")
        commits = 0
        while not removal.done():
            commit(other, f"c{commits}", "short")
            commits += 1
        removal.result()
    assert commits
    assert len(whole_history(other, "short")) == commits
    other.close()


def test_a_sweep_that_was_killed_is_finished_by_the_next(
    postgres: PostgresServer, where: str, store: PostgresStore
) -> None:
    add_world(store)
    gone = commit(store, "gone")
    schema = where.rpartition("%3D")[2]
    with postgres.connect() as db:
        # As a process leaves it that dies after the world is removed and before the sweep.
        db.execute(
            f"INSERT INTO {schema}.agentworld_doomed (ref, depth)"
            f" SELECT ref, 0 FROM {schema}.agentworld_held".encode()
        )
        db.execute(f"DELETE FROM {schema}.agentworld_held".encode())
        db.execute(f"DELETE FROM {schema}.agentworld_worlds".encode())
    add_world(store, "next")
    store.remove("next")
    assert not store.has(gone.ref) and not has_blob(store, b"gone")


def test_the_environment_names_the_store(
    postgres: PostgresServer, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_STORE", where)
    store = open_store()
    assert isinstance(store, PostgresStore)
    assert store.place == f"postgresql://tester@127.0.0.1:{postgres.port}/worlds"
    store.close()
