"""Files outside of the folders that may change stay as they are, whichever way is tried."""

from __future__ import annotations

import gzip
import importlib
import io
import logging
import multiprocessing
import multiprocessing.shared_memory
import os
import shelve
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from os import open as open_of_before
from pathlib import Path
from typing import Any

import pytest

from agentworld_fixtures._guard import Guard, RealEffect
from agentworld_sim.store import SqliteStore
from agentworld_sim.whole_file import write_file
from tests.fixtures_plugin.guard.conftest import Places

pytestmark = pytest.mark.promise("guard-files")

Attempt = Callable[[Places], object]


class OtherText(str):
    """Says of itself that it is another path than it is."""

    inside: str

    def __str__(self) -> str:
        return self.inside

    def __fspath__(self) -> str:
        return self.inside

    def startswith(self, *_: object) -> bool:
        return True


class TwoFaced(os.PathLike[str]):
    """Another path each time it is asked."""

    def __init__(self, *answers: Path) -> None:
        self._answers = [str(answer) for answer in answers]

    def __fspath__(self) -> str:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def relative(places: Places) -> None:
    os.chdir(places.outside)
    Path("kept").write_text("changed")


def dots(places: Places) -> None:
    os.chdir(places.inside)
    Path("../outside/new").write_text("changed")


def linked_file(places: Places) -> None:
    (places.inside / "link").symlink_to(places.kept)
    (places.inside / "link").write_text("changed")


def linked_folder(places: Places) -> None:
    (places.inside / "link").symlink_to(places.outside)
    (places.inside / "link" / "new").write_text("changed")


def link_behind_dots(places: Places) -> None:
    # Lexically this is `inside/new`; the system goes up from where the link leads.
    (places.inside / "link").symlink_to(places.outside / "empty")
    Path(f"{places.inside}/link/../new").write_text("changed")


def hard_link(places: Places) -> None:
    os.link(places.kept, places.inside / "same")
    (places.inside / "same").write_text("changed")


def replaced_folder(places: Places) -> None:
    os.rmdir(places.inside)
    os.symlink(places.outside, places.inside)
    (places.inside / "new").write_text("changed")


def by_descriptor_of_folder(places: Places) -> None:
    folder = os.open(places.outside, os.O_RDONLY)
    try:
        os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    finally:
        os.close(folder)


def by_older_open(places: Places) -> None:
    os.chdir(places.inside)
    folder = os.open(places.outside, os.O_RDONLY)
    try:
        os.close(open_of_before("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    finally:
        os.close(folder)


def removed_by_descriptor(places: Places) -> None:
    os.chdir(places.inside)
    folder = os.open(places.outside, os.O_RDONLY)
    try:
        os.unlink("kept", dir_fd=folder)
    finally:
        os.close(folder)


def moved_to_descriptor(places: Places) -> None:
    os.chdir(places.inside)
    Path("mine").touch()
    folder = os.open(places.outside, os.O_RDONLY)
    try:
        os.rename("mine", "kept", dst_dir_fd=folder)
    finally:
        os.close(folder)


def opened_again(places: Places) -> None:
    with places.kept.open("rb") as file, open(f"/dev/fd/{file.fileno()}", "wb") as again:
        again.write(b"changed")


def opened_again_in_proc(places: Places) -> None:
    with places.kept.open("rb") as file, open(f"/proc/self/fd/{file.fileno()}", "r+b") as again:
        again.write(b"changed")


def standard_output_is_that_file(places: Places) -> None:
    before = os.dup(1)
    try:
        with places.kept.open("rb") as file:
            os.dup2(file.fileno(), 1)
        with open("/dev/stdout", "wb") as again:
            again.write(b"changed")
    finally:
        os.dup2(before, 1)
        os.close(before)


def mode_by_descriptor(places: Places) -> None:
    with places.kept.open("rb") as file:
        os.fchmod(file.fileno(), 0o777)


def times_by_descriptor(places: Places) -> None:
    with places.kept.open("rb") as file:
        os.utime(file.fileno(), (0, 0))


def lying_text(places: Places) -> None:
    path = OtherText(places.kept)
    path.inside = str(places.inside / "mine")
    open(path, "w").close()


def two_faced(places: Places) -> None:
    io.FileIO(TwoFaced(places.kept, places.inside / "mine"), "w").close()


def two_faced_the_other_way(places: Places) -> None:
    io.FileIO(TwoFaced(places.inside / "mine", places.kept), "w").close()


def own_opener(places: Places) -> None:
    def opener(path: str, flags: int) -> int:
        return os.open(places.kept, flags)

    open(places.inside / "mine", "w", opener=opener).close()


def attached(places: Places) -> None:
    with closing(sqlite3.connect(places.inside / "mine.db")) as database:
        database.execute("ATTACH ? AS other", (str(places.outside / "new.db"),))
        database.execute("CREATE TABLE other.t (a)")


def attached_by_name(places: Places) -> None:
    with closing(sqlite3.connect(places.inside / "mine.db")) as database:
        database.execute(f"ATTACH '{places.outside / 'new.db'}' AS other")


def vacuumed_into(places: Places) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("VACUUM INTO ?", (str(places.outside / "new.db"),))


def database_uri(places: Places) -> None:
    uri = f"file:{places.outside}/ne%77.db?mode=rwc"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        database.execute("CREATE TABLE t (a)")


def database_that_looks_like_a_uri(places: Places) -> None:
    os.chdir(places.inside)
    os.mkdir("file:x?mode=ro")
    with closing(sqlite3.connect("file:x?mode=ro/../../outside/new.db")) as database:
        database.execute("CREATE TABLE t (a)")


def through_a_thread(places: Places) -> None:
    raised: list[BaseException] = []

    def work() -> None:
        try:
            places.kept.write_text("changed")
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    raise raised[0]


def removed_from_a_thread(places: Places) -> None:
    # No frame of anybody's own code is on this stack.
    raised: list[BaseException] = []
    before = threading.excepthook
    threading.excepthook = lambda args: raised.append(args.exc_value or RuntimeError())
    try:
        thread = threading.Thread(target=os.remove, args=(places.kept,))
        thread.start()
        thread.join()
    finally:
        threading.excepthook = before
    raise raised[0]


def store_of_worlds(places: Places) -> None:
    SqliteStore(places.outside / "new.db")


def cassette_of_another_name(places: Places) -> None:
    write_file(places.kept, "x")


def cassette_through_a_link(places: Places) -> None:
    (places.inside / "x.yaml").symlink_to(places.kept)
    (places.inside / "x.yaml").write_text("changed")


def zipped(places: Places) -> None:
    with zipfile.ZipFile(places.outside / "new.zip", "w") as archive:
        archive.writestr("a", "b")


def logged(places: Places) -> None:
    logging.FileHandler(places.outside / "new.log").close()


def temporary(places: Places) -> None:
    with tempfile.NamedTemporaryFile(dir=places.outside):
        pass


def nameless(places: Places) -> None:
    os.close(os.open(places.outside, os.O_TMPFILE | os.O_RDWR))


def compiled(places: Places) -> None:
    from importlib import _bootstrap_external

    write: Callable[[str, bytes], None] = getattr(_bootstrap_external, "_write_atomic")  # noqa: B009
    write(str(places.outside / "new.pyc"), b"changed")


def named_as_ours(places: Places) -> None:
    code = compile("open(path, 'w')", sqlite_store_file(), "exec")
    exec(code, {"__name__": "agentworld_sim.store.sqlite_store", "path": places.kept})  # noqa: S102 - code that claims to be another's


def named_as_pytest(places: Places) -> None:
    code = compile("open(path, 'w')", pytest.__file__, "exec")
    exec(code, {"__name__": "_pytest.cacheprovider", "path": places.outside / ".pytest_cache"})  # noqa: S102 - code that claims to be another's


def named_as_the_standard_library(places: Places) -> None:
    code = compile("open(path, 'w')", shutil.__file__, "exec")
    exec(code, {"__name__": "shutil", "path": places.kept})  # noqa: S102 - code that claims to be another's


def sqlite_store_file() -> str:
    from agentworld_sim.store import sqlite_store as _sqlite

    return _sqlite.__file__


ATTEMPTS: list[Attempt] = [
    relative,
    dots,
    linked_file,
    linked_folder,
    link_behind_dots,
    hard_link,
    replaced_folder,
    by_descriptor_of_folder,
    by_older_open,
    removed_by_descriptor,
    moved_to_descriptor,
    opened_again,
    opened_again_in_proc,
    standard_output_is_that_file,
    mode_by_descriptor,
    times_by_descriptor,
    lying_text,
    two_faced,
    two_faced_the_other_way,
    own_opener,
    database_uri,
    database_that_looks_like_a_uri,
    through_a_thread,
    removed_from_a_thread,
    store_of_worlds,
    cassette_of_another_name,
    cassette_through_a_link,
    zipped,
    logged,
    temporary,
    nameless,
    compiled,
    named_as_ours,
    named_as_pytest,
    named_as_the_standard_library,
]


def opened(path: object, mode: str, function: Callable[..., Any] = open) -> None:
    with function(path, mode):
        pass


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(path))


SHORT: dict[str, Attempt] = {
    "open": lambda places: opened(places.outside / "new", "w"),
    "open to append": lambda places: opened(places.kept, "a"),
    "open to update": lambda places: opened(places.kept, "r+b"),
    "open exclusively": lambda places: opened(places.outside / "new", "x"),
    "bytes": lambda places: opened(os.fsencode(places.kept), "w"),
    "write_text": lambda places: places.kept.write_text("changed"),
    "touch": lambda places: places.kept.touch(),
    "os.open": lambda places: os.open(places.kept, os.O_WRONLY),
    "os.open to make": lambda places: os.open(places.outside / "new", os.O_CREAT),
    "/proc/self/root": lambda places: opened(f"/proc/self/root{places.kept}", "w"),
    "/proc/thread-self": lambda places: opened(f"/proc/thread-self/root{places.kept}", "w"),
    "own memory": lambda places: opened("/proc/self/mem", "r+b"),
    "remove": lambda places: os.remove(places.kept),
    "unlink": lambda places: places.kept.unlink(),
    "rename away": lambda places: places.kept.rename(places.inside / "mine"),
    "replace": lambda places: (
        (places.inside / "mine").touch() or os.replace(places.inside / "mine", places.kept)
    ),
    "mkdir": lambda places: (places.outside / "new").mkdir(),
    "makedirs": lambda places: os.makedirs(places.outside / "new" / "newer"),
    "rmdir": lambda places: (places.outside / "empty").rmdir(),
    "link": lambda places: (
        (places.inside / "mine").touch() or os.link(places.inside / "mine", places.outside / "new")
    ),
    "symlink": lambda places: (places.outside / "new").symlink_to(places.inside),
    "truncate": lambda places: os.truncate(places.kept, 0),
    "chmod": lambda places: places.kept.chmod(0o777),
    "chown": lambda places: os.chown(places.kept, os.getuid(), os.getgid()),
    "utime": lambda places: os.utime(places.kept, (0, 0)),
    "mkfifo": lambda places: os.mkfifo(places.outside / "new"),
    "mknod": lambda places: os.mknod(places.outside / "new"),
    "setxattr": lambda places: os.setxattr(places.kept, "user.a", b"b"),
    "rmtree": lambda places: shutil.rmtree(places.outside),
    "copyfile": lambda places: shutil.copyfile(__file__, places.outside / "new"),
    "copytree": lambda places: shutil.copytree(places.inside, places.outside / "new"),
    "move": lambda places: shutil.move(places.kept, places.inside),
    "gzip": lambda places: opened(places.outside / "new.gz", "wb", gzip.open),
    "shelve": lambda places: opened(str(places.outside / "new"), "c", shelve.open),
    "sqlite3": lambda places: sqlite3.connect(places.outside / "new.db"),
    "sqlite3.Connection": lambda places: sqlite3.Connection(str(places.outside / "new.db")),
    "Unix socket": lambda places: socket_at(places.outside / "new"),
    "keylog": lambda places: setattr(
        ssl.create_default_context(), "keylog_filename", str(places.outside / "new")
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
def test_a_way_round_changes_no_file_outside(
    attempt: Attempt, places: Places, guard: Guard
) -> None:
    with pytest.raises(RealEffect):
        attempt(places)
    assert guard.violations


@pytest.mark.parametrize("attempt", SHORT.values(), ids=list(SHORT))
def test_no_file_outside_is_changed(attempt: Attempt, places: Places, guard: Guard) -> None:
    with pytest.raises(RealEffect):
        attempt(places)
    assert guard.violations


@pytest.mark.parametrize("attempt", [attached, attached_by_name, vacuumed_into])
def test_sql_that_names_another_file_is_denied_and_remembered(
    attempt: Attempt, places: Places, guard: Guard
) -> None:
    with pytest.raises(sqlite3.DatabaseError):
        attempt(places)
    (violation,) = guard.violations
    assert violation.what.startswith("opened a database for writing")


def test_files_within_may_change(places: Places, guard: Guard) -> None:
    os.chdir(places.inside)
    Path("a").write_text("1")
    os.makedirs("b/c", exist_ok=True)
    os.rename("a", "b/a")
    os.link("b/a", "b/same")
    Path("link").symlink_to("b/a")
    Path("link").write_text("2")
    os.chmod("b/a", 0o600)
    os.utime("b/a", (0, 0))
    shutil.copytree("b", "d")
    shutil.rmtree("b")
    folder = os.open("d", os.O_RDONLY)
    os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.mkdir("newer", dir_fd=folder)
    os.close(folder)
    with closing(sqlite3.connect("mine.db")) as database:
        database.execute("ATTACH 'other.db' AS other")
        database.execute("CREATE TABLE other.t (a)")
    assert guard.violations == ()


def test_reading_is_free(places: Places, guard: Guard) -> None:
    assert places.kept.read_text() == "as it was"
    assert os.listdir(places.outside)
    places.outside.mkdir(exist_ok=True)
    os.makedirs(places.outside / "empty", exist_ok=True)
    with closing(sqlite3.connect(f"file:{places.kept}?mode=ro", uri=True)):
        pass
    assert guard.violations == ()


def test_what_is_no_file_is_free(guard: Guard) -> None:
    Path("/dev/null").write_text("nothing")
    with open(os.devnull, "r+b"), io.BytesIO(b""):
        pass
    reading, writing = os.pipe()
    with open(f"/dev/fd/{writing}", "wb") as pipe:
        pipe.write(b"through a pipe")
    with open(writing, "wb", closefd=True), open(reading, "rb"):
        pass
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("ATTACH ':memory:' AS other")
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=16)
    shared.close()
    shared.unlink()
    assert guard.violations == ()


def test_temporary_files_lie_below_a_folder_that_may_change(places: Places, guard: Guard) -> None:
    assert list(places.inside.iterdir()) == []
    with tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as nameless:
        assert Path(named.name).is_relative_to(places.inside)
        nameless.write(b"1")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a").write_text("1")
    Path(tempfile.gettempdir(), "mine").write_text("1")
    assert guard.violations == ()


def test_temporary_files_lie_where_the_path_is_shortest(tmp_path: Path) -> None:
    # The path of a Unix socket, which `multiprocessing` makes there, has 107 bytes at most.
    with Guard(writable=[tmp_path, tmp_path.parent]) as guard:
        context = multiprocessing.get_context("fork")
        with context.Manager() as manager:
            assert manager.list([1])[0] == 1
    assert guard.violations == ()
    assert getattr(multiprocessing.current_process(), "_config").get("tempdir") is None  # noqa: B009


def test_temporary_files_of_before_are_tidied_up(tmp_path: Path) -> None:
    # Perhaps by the garbage collector: those of an earlier test are nobody's attempt.
    file, folder = tempfile.NamedTemporaryFile(), tempfile.TemporaryDirectory()  # noqa: SIM115 - closed while guarded
    other = tempfile.mkdtemp()
    Path(folder.name, "a").touch()
    with Guard(writable=[tmp_path]) as guard:
        file.close()
        folder.cleanup()
        assert guard.violations == ()
        with pytest.raises(RealEffect):
            os.rmdir(other)
    os.rmdir(other)
    assert not Path(file.name).exists()
    assert not Path(folder.name).exists()


def test_modules_are_still_compiled_into_their_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "freshly_written.py").write_text("VALUE = 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with Guard(writable=[tmp_path / "nothing"]) as guard:
        importlib.import_module("freshly_written")
    assert guard.violations == ()
    assert list((tmp_path / "__pycache__").glob("freshly_written.*.pyc"))


def test_the_users_own_store_and_cassettes_beside_the_test_may_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home" / "worlds"))
    with Guard(writable=[tmp_path / "inside"]) as guard:
        SqliteStore(tmp_path / "home" / "worlds" / "worlds.sqlite").close()
        write_file(tmp_path / "cassettes" / "test_agent" / "test_it.yaml", "answers: []\n")
    assert guard.violations == ()
    monkeypatch.setenv("AGENTWORLD_STORE", str(tmp_path / "mine.db"))
    with Guard(writable=[tmp_path / "inside"]) as guard:
        SqliteStore(tmp_path / "mine.db").close()
    assert guard.violations == ()


def test_where_a_path_leads_that_cannot_be_told_is_outside(places: Places, guard: Guard) -> None:
    gone = places.inside / "gone"
    gone.mkdir()
    os.chdir(gone)
    os.rmdir(gone)
    with suppress(OSError), pytest.raises(RealEffect, match="cannot tell where this path leads"):
        open("new", "w").close()
    assert guard.violations


def test_history_of_the_keyboard_is_not_written(places: Places, guard: Guard) -> None:
    # Its C code has no audit event. Loaded before or while the guard is on.
    import readline

    with pytest.raises(RealEffect):
        readline.write_history_file(str(places.outside / "new"))


def test_the_message_says_what_where_and_what_to_do(places: Places, guard: Guard) -> None:
    def save_notes() -> None:
        places.kept.write_text("changed")

    with pytest.raises(RealEffect) as caught:
        save_notes()
    first, second, *rest = str(caught.value).splitlines()
    assert first == f"save_notes() wrote a file: {places.kept}"
    line = save_notes.__code__.co_firstlineno + 1
    assert second == f"  at {Path(__file__).relative_to(Path.cwd())}:{line} in save_notes"
    assert "fixture" in "\n".join(rest)


def test_the_process_is_as_before_when_the_guard_is_off(places: Places) -> None:
    opened, folder, popen = os.open, tempfile.gettempdir(), subprocess.Popen
    with Guard(writable=[places.inside]):
        assert tempfile.gettempdir() != folder
    assert (os.open, tempfile.gettempdir(), subprocess.Popen) == (opened, folder, popen)
    assert os.open in os.supports_dir_fd
    (places.inside.parent / "free").write_text("1")
