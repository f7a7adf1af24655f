"""The calls of WASI preview 1, answered for one run of one program over the world's own files, clock and chance.

There is nothing else that a program could call: no file, process, socket, clock or random source of the host.
The numbers are those of the standard's `wasi_snapshot_preview1`.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from agentworld_sim.engines.shell._command import Streams
from agentworld_sim.engines.shell.file_times import TurnClock
from agentworld_sim.engines.shell.live_files import FileStat, LiveFiles
from agentworld_sim.engines.shell.programs import DATA
from agentworld_sim.engines.shell.wasi.error_codes import in_linux_terms
from agentworld_sim.engines.shell.wasi.program_memory import ProgramMemory, c_strings
from agentworld_sim.engines.shell.wasi.run_files import (
    DEVICE,
    DIRECTORY,
    FILE,
    LARGEST,
    LINK,
    Node,
    RunFiles,
)

ROOT = 3
"""The descriptor of `/`, which every program has from the start."""

MOST_OPEN = 1_024
"""Descriptors of one run, as `ulimit -n` says."""

TICK_NS = 50_000
"""What a look at the clock takes on it: a program that waits for a moment by looking gets there."""

_ALL_RIGHTS = (1 << 30) - 1
_MAKE, _FOLDER, _ANEW, _EMPTY = 1, 2, 4, 8
"""How `path_open` opens: make it, only a folder, only what is not there, empty it."""
_WRITES = 1 << 6
_APPENDS = 1
_FOLLOWS = 1

DEVICES = {
    f"/dev/{name}": name for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
}
REQUESTS = "/dev/.machine"
"""A device of ours: what is written to it is a request to the machine, what is read the answer."""

_STREAMS = {
    name: number
    for number, device in enumerate(("stdin", "stdout", "stderr"))
    for name in (f"/proc/self/fd/{number}", f"/dev/fd/{number}", f"/dev/{device}")
}


_MUCH = 1 << 20
"""Bytes of one write that go to the world at once."""


class ProgramEnded(BaseException):
    """The program has called `exit`."""


@dataclass(slots=True)
class OpenFile:
    """One descriptor."""

    node: Node
    at: int = 0
    flags: int = 0
    answer: bytes | None = None
    """Of a request to the machine."""


@dataclass(slots=True)
class WasiKernel:
    """What one running program is answered."""

    live: LiveFiles
    argv: Sequence[str]
    env: Mapping[str, str]
    clock: TurnClock
    random: Random
    streams: Streams
    request: Callable[[WasiKernel, bytes], bytes]
    """Answers what is written to `REQUESTS`."""
    ids: Callable[[str, str], tuple[int, int]]
    """The numbers of a user and a group."""
    exit_code: int = 0
    memory: ProgramMemory = field(default_factory=ProgramMemory)
    files: RunFiles = field(init=False)
    _open: dict[int, OpenFile | int] = field(init=False)
    """By number; a standard stream by its own."""
    _arguments: tuple[bytes, ...] = field(init=False)
    _environment: tuple[bytes, ...] = field(init=False)
    _ns: int = 0
    """How much later it is than the world's clock says."""

    def __post_init__(self) -> None:
        self.files = RunFiles(self.live, {**DEVICES, REQUESTS: "machine"})
        self._open = {0: 0, 1: 1, 2: 2, ROOT: OpenFile(self.files.root)}
        self._arguments = c_strings(self.argv)
        self._environment = c_strings(f"{name}={value}" for name, value in self.env.items())

    def imports(self) -> Mapping[str, Callable[..., int | None]]:
        """The functions that a module may call, by name. They raise `OSError` for what fails."""
        return {name: getattr(self, name, _no_such_thing) for name in CALLS}

    def give_back(self) -> None:
        """What the program has written goes to the world, and its clock to the world's: others run now."""
        self.files.flush_all()
        self.settle_clock()
        self.streams.flush()

    def settle_clock(self) -> None:
        passed, self._ns = self._ns // 1_000, 0
        if passed:
            self.clock.sleep(passed)

    # Arguments and environment

    def args_get(self, pointers: int, buffer: int) -> None:
        self.memory.put_strings(self._arguments, pointers, buffer)

    def args_sizes_get(self, count_at: int, size_at: int) -> None:
        self.memory.put_sizes(self._arguments, count_at, size_at)

    def environ_get(self, pointers: int, buffer: int) -> None:
        self.memory.put_strings(self._environment, pointers, buffer)

    def environ_sizes_get(self, count_at: int, size_at: int) -> None:
        self.memory.put_sizes(self._environment, count_at, size_at)

    # Clock, chance, end

    def _now_ns(self) -> int:
        return self.clock.now_us() * 1_000 + self._ns

    def clock_res_get(self, _clock: int, at: int) -> None:
        self.memory.put(at, (1).to_bytes(8, "little"))

    def clock_time_get(self, _clock: int, _precision: int, at: int) -> None:
        self._ns += TICK_NS
        self.memory.put(at, self._now_ns().to_bytes(8, "little"))

    def poll_oneoff(self, wanted: int, events: int, count: int, count_at: int) -> None:
        """Everything is ready at once, and who waits for a moment moves the world's clock there."""
        waits = [self.memory.get(wanted + 48 * index, 48) for index in range(count)]
        moments: list[int] = []
        for one in waits:
            if one[8] == 0:
                (timeout,) = struct.unpack_from("<Q", one, 24)
                (flags,) = struct.unpack_from("<H", one, 40)
                moments.append(timeout - self._now_ns() if flags & 1 else timeout)
        if moments and len(moments) == len(waits):
            self._ns += max(0, min(moments))
            self.settle_clock()
        ready = [one for one in waits if one[8] != 0] or waits
        for index, one in enumerate(ready):
            self.memory.put(
                events + 32 * index, one[:8] + struct.pack("<HB", 0, one[8]) + bytes(21)
            )
        self.memory.put_u32(count_at, len(ready))

    def random_get(self, at: int, size: int) -> None:
        self.memory.put(at, self.random.randbytes(size))

    def sched_yield(self) -> None:
        pass

    def proc_exit(self, code: int) -> None:
        self.exit_code = code & 0xFF
        raise ProgramEnded

    # Descriptors

    def _descriptor(self, number: int) -> OpenFile | int:
        try:
            return self._open[number]
        except KeyError:
            raise _failure(errno.EBADF) from None

    def _file(self, number: int) -> OpenFile:
        found = self._descriptor(number)
        if isinstance(found, int):
            raise _failure(errno.ESPIPE)
        return found

    def _data(self, number: int) -> OpenFile:
        """An open file that holds bytes."""
        found = self._file(number)
        if found.node.kind == DIRECTORY:
            raise _failure(errno.EISDIR)
        return found

    def duplicate(self, number: int, to: int | None) -> int:
        """Makes `to`, or else the lowest free number, another name of a descriptor.

        Raises:
            OSError: there is no such descriptor, or no number left.
        """
        found = self._descriptor(number)
        if to is None:
            to = self._free_number()
        elif to != number and to in self._open:
            self.fd_close(to)
        self._open[to] = found
        return to

    def fd_renumber(self, number: int, to: int) -> None:
        self.duplicate(number, to)
        del self._open[number]

    def open_nodes(self) -> list[Node]:
        return [one.node for one in self._open.values() if not isinstance(one, int)]

    def fd_advise(self, number: int, _offset: int, _size: int, _advice: int) -> None:
        self._file(number)

    def fd_allocate(self, number: int, offset: int, size: int) -> None:
        data = self.files.writable(self._data(number).node)
        self._require_room(offset + size)
        data.extend(bytes(max(0, offset + size - len(data))))

    def fd_close(self, number: int) -> None:
        found = self._descriptor(number)
        del self._open[number]
        if not isinstance(found, int):
            self.files.flush(found.node)

    def fd_sync(self, number: int) -> None:
        self.files.flush(self._file(number).node)

    fd_datasync = fd_sync

    def fd_fdstat_get(self, number: int, at: int) -> None:
        found = self._descriptor(number)
        kind, flags = (0, 0) if isinstance(found, int) else (found.node.kind, found.flags)
        self.memory.put(at, struct.pack("<BxHxxxxQQ", kind, flags, _ALL_RIGHTS, _ALL_RIGHTS))

    def fd_fdstat_set_flags(self, number: int, flags: int) -> None:
        found = self._descriptor(number)
        if not isinstance(found, int):
            found.flags = flags

    def fd_filestat_get(self, number: int, at: int) -> None:
        found = self._descriptor(number)
        if isinstance(found, int):
            self.memory.put(at, struct.pack("<QQBxxxxxxxQQQQQ", 0, found, 0, 1, 0, 0, 0, 0))
        else:
            self._put_status(found.node, at)

    def fd_filestat_set_size(self, number: int, size: int) -> None:
        data = self.files.writable(self._data(number).node)
        self._require_room(size)
        if size < len(data):
            del data[size:]
        else:
            data.extend(bytes(size - len(data)))

    def fd_filestat_set_times(self, number: int, _access: int, mtime_ns: int, flags: int) -> None:
        self._set_time(self._file(number).node, mtime_ns, flags)

    def fd_prestat_get(self, number: int, at: int) -> None:
        if number != ROOT:
            raise _failure(errno.EBADF)
        self.memory.put(at, struct.pack("<II", 0, 1))

    def fd_prestat_dir_name(self, _number: int, at: int, _size: int) -> None:
        self.memory.put(at, b"/")

    def fd_read(self, number: int, vectors: int, count: int, size_at: int) -> None:
        found = self._descriptor(number)
        done = 0
        for at, size in self.memory.pieces(vectors, count):
            if isinstance(found, int):
                data = self.streams.read(size) if size and not found else b""
            else:
                data = self._read_at(found, found.at, size)
                found.at += len(data)
            self.memory.put(at, data)
            done += len(data)
            if len(data) < size:
                break
        self.memory.put_u32(size_at, done)

    def fd_pread(self, number: int, vectors: int, count: int, offset: int, size_at: int) -> None:
        found = self._data(number)
        done = 0
        for at, size in self.memory.pieces(vectors, count):
            data = self._read_at(found, offset + done, size)
            self.memory.put(at, data)
            done += len(data)
        self.memory.put_u32(size_at, done)

    def _read_at(self, found: OpenFile, offset: int, size: int) -> bytes | bytearray:
        node = found.node
        if node.kind == FILE:
            return self.files.read(node)[offset : offset + size]
        if node.kind == DIRECTORY:
            raise _failure(errno.EISDIR)
        if found.answer is not None:
            return found.answer[offset : offset + size]
        if node.name in ("zero", "full"):
            return bytes(size)
        return self.random.randbytes(size) if node.name.endswith("random") else b""

    def fd_write(self, number: int, vectors: int, count: int, size_at: int) -> None:
        data = self.memory.gather(vectors, count)
        found = self._descriptor(number)
        if isinstance(found, int):
            self.streams.write(found or 1, in_linux_terms(data))
        else:
            if found.flags & _APPENDS:
                found.at = self.files.size(found.node)
            self._write_at(found, found.at, data)
            found.at += len(data)
        self.memory.put_u32(size_at, len(data))

    def fd_pwrite(self, number: int, vectors: int, count: int, offset: int, size_at: int) -> None:
        data = self.memory.gather(vectors, count)
        self._write_at(self._data(number), offset, data)
        self.memory.put_u32(size_at, len(data))

    def _write_at(self, found: OpenFile, offset: int, data: bytes) -> None:
        node = found.node
        if node.kind == DIRECTORY:
            raise _failure(errno.EISDIR)
        if node.kind == FILE:
            self._require_room(offset + len(data))
            held = self.files.writable(node)
            if offset > len(held):
                held.extend(bytes(offset - len(held)))
            held[offset : offset + len(data)] = data
            # Of a file that is never closed, a program would not learn that the disk is full.
            if self.live.conditions.free_bytes is not None or len(data) >= _MUCH:
                self.files.flush(node)
        elif node.name == "full":
            raise _failure(errno.ENOSPC)
        elif node.path == REQUESTS:
            found.answer, found.at = self.request(self, data), -len(data)

    @staticmethod
    def _require_room(size: int) -> None:
        if size > LARGEST:
            raise _failure(errno.EFBIG)

    def fd_seek(self, number: int, offset: int, whence: int, at: int) -> None:
        found = self._file(number)
        base = (0, found.at, self.files.size(found.node) if whence == 2 else 0)[whence]
        if base + offset < 0:
            raise _failure(errno.EINVAL)
        found.at = base + offset
        self.memory.put(at, found.at.to_bytes(8, "little"))

    def fd_tell(self, number: int, at: int) -> None:
        self.memory.put(at, self._file(number).at.to_bytes(8, "little"))

    def fd_readdir(self, number: int, at: int, size: int, cookie: int, size_at: int) -> None:
        folder = self._file(number).node
        if folder.kind != DIRECTORY:
            raise _failure(errno.ENOTDIR)
        listed = [(".", folder), ("..", folder.parent or folder), *self.files.list(folder).items()]
        out = bytearray()
        for index in range(cookie, len(listed)):
            name, node = listed[index]
            text = name.encode("utf-8", "surrogateescape")
            inode = self.files.status(node).inode
            out += struct.pack("<QQIBxxx", index + 1, inode, len(text), node.kind) + text
            if len(out) >= size:
                break
        self.memory.put(at, out[:size])
        self.memory.put_u32(size_at, min(size, len(out)))

    # Paths

    def _path(self, number: int, at: int, size: int) -> str:
        text = self.memory.text(at, size)
        folder = self._file(number).node
        if folder.kind != DIRECTORY:
            raise _failure(errno.ENOTDIR)
        return text if text.startswith("/") else f"{folder.path.rstrip('/')}/{text}"

    def path_open(
        self, number: int, follow: int, at: int, size: int, how: int,
        rights: int, _inheriting: int, flags: int, number_at: int,
    ) -> None:  # fmt: skip
        path = self._path(number, at, size)
        new = self._free_number()
        if path in _STREAMS:
            self._open[new] = self._descriptor(_STREAMS[path])
        elif path == REQUESTS:
            self._open[new] = OpenFile(Node(DEVICE, self.files.find("/dev"), ".machine"))
        else:
            self._open[new] = OpenFile(self._node(path, follow, how, rights), 0, flags)
        self.memory.put_u32(number_at, new)

    def _node(self, path: str, follow: int, how: int, rights: int) -> Node:
        """What is to be opened, made if that is wanted."""
        if how & _MAKE:
            found, parent, name = self.files.place(path)
            if found is None:
                return self.files.create(parent, name)
            if how & _ANEW:
                raise _failure(errno.EEXIST)
        node = self.files.find(path, follow=bool(follow & _FOLLOWS))
        if node.kind == LINK:
            raise _failure(errno.ELOOP)
        if how & _FOLDER and node.kind != DIRECTORY:
            raise _failure(errno.ENOTDIR)
        if node.kind == DIRECTORY and rights & _WRITES and not how & _FOLDER:
            raise _failure(errno.EISDIR)
        if node.kind == DEVICE and node.name in ("tty", "ptmx"):
            raise _failure(errno.ENXIO)
        if how & _EMPTY and node.kind == FILE and self.files.size(node):
            self.files.writable(node).clear()
        return node

    def _free_number(self) -> int:
        number = next(n for n in range(ROOT + 1, MOST_OPEN + 1) if n not in self._open)
        if number == MOST_OPEN:
            raise _failure(errno.EMFILE)
        return number

    def path_filestat_get(self, number: int, follow: int, at: int, size: int, to: int) -> None:
        path = self._path(number, at, size)
        self._put_status(self.files.find(path, follow=bool(follow & _FOLLOWS)), to)

    def _owners(self, status: FileStat) -> int:
        """User and group as numbers of 16 bits."""
        if status.owner == status.group == "root":
            return 0
        user, group = self.ids(status.owner, status.group)
        return user & 0xFFFF | (group & 0xFFFF) << 16

    def _put_status(self, node: Node, at: int) -> None:
        status = self.files.status(node)
        mtime_ns = status.mtime_us * 1_000
        kind, size = node.kind, self.files.size(node)
        # What WASI has no room for stands above the device's number, 1.
        device = 1 | status.mode << 16 | self._owners(status) << 32
        fields = (device, status.inode, kind, status.nlink, size, mtime_ns, mtime_ns, mtime_ns)
        self.memory.put(at, struct.pack("<QQBxxxxxxxQQQQQ", *fields))

    def path_filestat_set_times(
        self, number: int, follow: int, at: int, size: int, _access: int, mtime_ns: int, flags: int
    ) -> None:
        path = self._path(number, at, size)
        self._set_time(self.files.find(path, follow=bool(follow & _FOLLOWS)), mtime_ns, flags)

    def _set_time(self, node: Node, mtime_ns: int, flags: int) -> None:
        if flags & (4 | 8):
            mtime_us = self._now_ns() // 1_000 if flags & 8 else mtime_ns // 1_000
            self.files.set_time(node, mtime_us)

    def path_create_directory(self, number: int, at: int, size: int) -> None:
        found, parent, name = self.files.place(self._path(number, at, size))
        if found is not None:
            raise _failure(errno.EEXIST)
        self.files.make_folder(parent, name)

    def path_unlink_file(self, number: int, at: int, size: int) -> None:
        found, _, _ = self.files.place(self._path(number, at, size))
        if found is None:
            raise _failure(errno.ENOENT)
        if found.kind == DIRECTORY:
            raise _failure(errno.EISDIR)
        self.files.remove(found)

    def path_remove_directory(self, number: int, at: int, size: int) -> None:
        found, _, _ = self.files.place(self._path(number, at, size))
        if found is None:
            raise _failure(errno.ENOENT)
        if found.kind != DIRECTORY:
            raise _failure(errno.ENOTDIR)
        if self.files.list(found):
            raise _failure(errno.ENOTEMPTY)
        self.files.remove(found)

    def path_rename(
        self, number: int, at: int, size: int, number_to: int, at_to: int, size_to: int
    ) -> None:
        node, _, _ = self.files.place(self._path(number, at, size))
        before, parent, name = self.files.place(self._path(number_to, at_to, size_to))
        if node is None:
            raise _failure(errno.ENOENT)
        if before is not None and before is not node:
            if before.kind == DIRECTORY and node.kind != DIRECTORY:
                raise _failure(errno.EISDIR)
            if node.kind == DIRECTORY and before.kind != DIRECTORY:
                raise _failure(errno.ENOTDIR)
            if before.kind == DIRECTORY and self.files.list(before):
                raise _failure(errno.ENOTEMPTY)
        inside: Node | None = parent
        while inside is not None:
            if inside is node:
                raise _failure(errno.EINVAL)
            inside = inside.parent
        self.files.rename(node, parent, name, before)

    def path_symlink(self, at: int, size: int, number: int, at_to: int, size_to: int) -> None:
        found, parent, name = self.files.place(self._path(number, at_to, size_to))
        if found is not None:
            raise _failure(errno.EEXIST)
        self.files.make_link(self.memory.text(at, size), parent, name)

    def path_link(
        self, number: int, follow: int, at: int, size: int, number_to: int, at_to: int, size_to: int
    ) -> None:
        """A world has no hard links: as with `ln`, the new name is a copy."""
        node = self.files.find(self._path(number, at, size), follow=bool(follow & _FOLLOWS))
        found, parent, name = self.files.place(self._path(number_to, at_to, size_to))
        if found is not None:
            raise _failure(errno.EEXIST)
        if node.kind == DIRECTORY:
            raise _failure(errno.EPERM)
        if node.kind == LINK:
            self.files.make_link(self.files.target(node), parent, name)
            return
        made = self.files.create(parent, name)
        self.files.writable(made).extend(self.files.read(node))
        self.files.flush(made)
        self.files.set_mode(made, self.files.status(node).mode)

    def path_readlink(
        self, number: int, at: int, size: int, to: int, room: int, size_at: int
    ) -> None:
        node, _, _ = self.files.place(self._path(number, at, size))
        if node is None:
            raise _failure(errno.ENOENT)
        if node.kind != LINK:
            raise _failure(errno.EINVAL)
        data = self.files.target(node).encode("utf-8", "surrogateescape")[:room]
        self.memory.put(to, data)
        self.memory.put_u32(size_at, len(data))


CALLS = tuple((DATA / "wasi_calls.txt").read_text("utf-8").split())
"""All calls that there are."""


def _no_such_thing(*_: int) -> int:
    """The answer about sockets and rights."""
    raise _failure(errno.ENOTSUP)


def _failure(number: int) -> OSError:
    return OSError(number, os.strerror(number))
