"""The calls of WASI preview 1, answered for one run of one program over the world's own files, clock and chance.

There is nothing else that a program could call: no file, process, socket, clock or random source of the host.
The numbers are those of the standard's `wasi_snapshot_preview1`.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

from agentworld_sim.engines.shell._command import Streams
from agentworld_sim.engines.shell.file_times import TurnClock
from agentworld_sim.engines.shell.live_files import FileStat, LiveFiles
from agentworld_sim.engines.shell.wasi.run_files import (
    DEVICE,
    DIRECTORY,
    FILE,
    LARGEST,
    LINK,
    Node,
    RunFiles,
)

_CODES = {
    errno.EACCES: 2, errno.EBADF: 8, errno.EEXIST: 20, errno.EFAULT: 21, errno.EFBIG: 22, errno.EINVAL: 28,
    errno.EIO: 29, errno.EISDIR: 31, errno.ELOOP: 32, errno.EMFILE: 33, errno.ENAMETOOLONG: 37,
    errno.ENOENT: 44, errno.ENOSPC: 51, errno.ENOSYS: 52, errno.ENOTDIR: 54, errno.ENOTEMPTY: 55,
    errno.ENOTSUP: 58, errno.ENXIO: 60, errno.EPERM: 63, errno.EPIPE: 64, errno.EROFS: 69,
    errno.ESPIPE: 70, errno.EXDEV: 75,
}  # fmt: skip
"""WASI's numbers of the errors."""

BADF, INVAL, ISDIR, NOTDIR, NOTEMPTY, NOTSUP, SPIPE, EXIST, NOENT, FBIG, MFILE, NOSPC, NXIO = (
    _CODES[getattr(errno, "E" + name)]
    for name in "BADF INVAL ISDIR NOTDIR NOTEMPTY NOTSUP SPIPE EXIST NOENT FBIG MFILE NOSPC NXIO".split()
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

_STREAMS = {f"/proc/self/fd/{number}": number for number in (0, 1, 2)}


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
    exit_code: int | None = None
    files: RunFiles = field(init=False)
    _open: dict[int, OpenFile | int] = field(init=False)
    """By number; a standard stream by its own."""
    _view: Callable[[], memoryview] = field(init=False)
    _memory: memoryview = field(init=False)
    _size: int = 0
    """Of the program's memory, when it was looked at last."""
    _arguments: tuple[bytes, ...] = field(init=False)
    _environment: tuple[bytes, ...] = field(init=False)
    _ns: int = 0
    """How much later it is than the world's clock says."""

    def __post_init__(self) -> None:
        self.files = RunFiles(self.live, {**DEVICES, REQUESTS: "machine"})
        self._open = {0: 0, 1: 1, 2: 2, ROOT: OpenFile(self.files.root)}
        self._arguments = tuple(map(_c_string, self.argv))
        self._environment = tuple(_c_string(f"{name}={value}") for name, value in self.env.items())

    def imports(self) -> Mapping[str, Callable[..., int | None]]:
        """The functions that a module may call, by name. They raise `OSError` for what fails."""
        return {name: getattr(self, name, _no_such_thing) for name in CALLS}

    def give_back(self) -> None:
        """What the program has written goes to the world, and its clock to the world's: others run now."""
        self.files.flush_all()
        self.settle_clock()

    def settle_clock(self) -> None:
        passed, self._ns = self._ns // 1_000, 0
        if passed:
            self.clock.sleep(passed)

    # Memory

    def use_memory(self, view: Callable[[], memoryview]) -> None:
        """`view` gives the program's memory as it is at that moment: it grows, and never moves."""
        self._view = view

    def _reach(self, end: int) -> None:
        """Makes sure that the program's memory goes to `end`.

        Raises:
            OSError: it does not: a program may name any address.
        """
        if end > self._size:
            self._memory = self._view()
            self._size = len(self._memory)
            if end > self._size:
                raise OSError(errno.EFAULT, "")

    def _get(self, at: int, size: int) -> bytes:
        self._reach(at + size)
        return self._memory[at : at + size].tobytes()

    def _put(self, at: int, data: bytes | bytearray) -> None:
        end = at + len(data)
        self._reach(end)
        self._memory[at:end] = data

    def _put_u32(self, at: int, value: int) -> None:
        self._put(at, value.to_bytes(4, "little"))

    def _text(self, at: int, size: int) -> str:
        return self._get(at, size).decode("utf-8", "surrogateescape")

    def _pieces(self, vectors: int, count: int) -> list[tuple[int, int]]:
        """Addresses and sizes."""
        return list(struct.iter_unpack("<II", self._get(vectors, 8 * count)))

    # Arguments and environment

    def _strings(self, strings: tuple[bytes, ...], pointers: int, buffer: int) -> None:
        starts = accumulate(map(len, strings[:-1]), initial=buffer)
        if strings:
            self._put(pointers, struct.pack(f"<{len(strings)}I", *starts))
            self._put(buffer, b"".join(strings))

    def _sizes(self, strings: tuple[bytes, ...], count_at: int, size_at: int) -> None:
        self._put_u32(count_at, len(strings))
        self._put_u32(size_at, sum(map(len, strings)))

    def args_get(self, pointers: int, buffer: int) -> None:
        self._strings(self._arguments, pointers, buffer)

    def args_sizes_get(self, count_at: int, size_at: int) -> None:
        self._sizes(self._arguments, count_at, size_at)

    def environ_get(self, pointers: int, buffer: int) -> None:
        self._strings(self._environment, pointers, buffer)

    def environ_sizes_get(self, count_at: int, size_at: int) -> None:
        self._sizes(self._environment, count_at, size_at)

    # Clock, chance, end

    def _now_ns(self) -> int:
        return self.clock.now_us() * 1_000 + self._ns

    def clock_res_get(self, _clock: int, at: int) -> None:
        self._put(at, (1).to_bytes(8, "little"))

    def clock_time_get(self, _clock: int, _precision: int, at: int) -> None:
        self._ns += TICK_NS
        self._put(at, self._now_ns().to_bytes(8, "little"))

    def poll_oneoff(self, wanted: int, events: int, count: int, count_at: int) -> None:
        """Everything is ready at once, and who waits for a moment moves the world's clock there."""
        waits = [self._get(wanted + 48 * index, 48) for index in range(count)]
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
            self._put(events + 32 * index, one[:8] + struct.pack("<HB", 0, one[8]) + bytes(21))
        self._put_u32(count_at, len(ready))

    def random_get(self, at: int, size: int) -> None:
        self._put(at, self.random.randbytes(size))

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
            raise OSError(errno.EBADF, "") from None

    def _file(self, number: int) -> OpenFile:
        found = self._descriptor(number)
        if isinstance(found, int):
            raise OSError(errno.ESPIPE, "")
        return found

    def _data(self, number: int) -> OpenFile:
        """An open file that holds bytes."""
        found = self._file(number)
        if found.node.kind == DIRECTORY:
            raise OSError(errno.EISDIR, "")
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
        """The files that are open."""
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
        self._put(at, struct.pack("<BxHxxxxQQ", kind, flags, _ALL_RIGHTS, _ALL_RIGHTS))

    def fd_fdstat_set_flags(self, number: int, flags: int) -> None:
        found = self._descriptor(number)
        if not isinstance(found, int):
            found.flags = flags

    def fd_filestat_get(self, number: int, at: int) -> None:
        found = self._descriptor(number)
        if isinstance(found, int):
            self._put(at, struct.pack("<QQBxxxxxxxQQQQQ", 0, found, 0, 1, 0, 0, 0, 0))
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

    def fd_prestat_get(self, number: int, at: int) -> int | None:
        if number != ROOT:
            return BADF
        self._put(at, struct.pack("<II", 0, 1))
        return None

    def fd_prestat_dir_name(self, _number: int, at: int, _size: int) -> None:
        self._put(at, b"/")

    def fd_read(self, number: int, vectors: int, count: int, size_at: int) -> None:
        found = self._descriptor(number)
        done = 0
        for at, size in self._pieces(vectors, count):
            if isinstance(found, int):
                data = self.streams.read(size) if size and not found else b""
            else:
                data = self._read_at(found, found.at, size)
                found.at += len(data)
            self._put(at, data)
            done += len(data)
            if len(data) < size:
                break
        self._put_u32(size_at, done)

    def fd_pread(self, number: int, vectors: int, count: int, offset: int, size_at: int) -> None:
        found = self._data(number)
        done = 0
        for at, size in self._pieces(vectors, count):
            data = self._read_at(found, offset + done, size)
            self._put(at, data)
            done += len(data)
        self._put_u32(size_at, done)

    def _read_at(self, found: OpenFile, offset: int, size: int) -> bytes | bytearray:
        node = found.node
        if node.kind == FILE:
            return self.files.read(node)[offset : offset + size]
        if node.kind == DIRECTORY:
            raise OSError(errno.EISDIR, "")
        if found.answer is not None:
            return found.answer[offset : offset + size]
        if node.name in ("zero", "full"):
            return bytes(size)
        return self.random.randbytes(size) if node.name.endswith("random") else b""

    def fd_write(self, number: int, vectors: int, count: int, size_at: int) -> None:
        data = b"".join(self._get(at, size) for at, size in self._pieces(vectors, count))
        found = self._descriptor(number)
        if isinstance(found, int):
            self.streams.write(found or 1, data)
        else:
            if found.flags & _APPENDS:
                found.at = self.files.size(found.node)
            self._write_at(found, found.at, data)
            found.at += len(data)
        self._put_u32(size_at, len(data))

    def fd_pwrite(self, number: int, vectors: int, count: int, offset: int, size_at: int) -> None:
        data = b"".join(self._get(at, size) for at, size in self._pieces(vectors, count))
        self._write_at(self._data(number), offset, data)
        self._put_u32(size_at, len(data))

    def _write_at(self, found: OpenFile, offset: int, data: bytes) -> None:
        node = found.node
        if node.kind == DIRECTORY:
            raise OSError(errno.EISDIR, "")
        if node.kind == FILE:
            self._require_room(offset + len(data))
            held = self.files.writable(node)
            if offset > len(held):
                held.extend(bytes(offset - len(held)))
            held[offset : offset + len(data)] = data
            if self.live.conditions.free_bytes is not None:
                self.files.flush(node)
        elif node.name == "full":
            raise OSError(errno.ENOSPC, "")
        elif node.path == REQUESTS:
            found.answer, found.at = self.request(self, data), -len(data)

    @staticmethod
    def _require_room(size: int) -> None:
        if size > LARGEST:
            raise OSError(errno.EFBIG, "")

    def fd_seek(self, number: int, offset: int, whence: int, at: int) -> int | None:
        found = self._file(number)
        base = (0, found.at, self.files.size(found.node) if whence == 2 else 0)[whence]
        if base + offset < 0:
            return INVAL
        found.at = base + offset
        self._put(at, found.at.to_bytes(8, "little"))
        return None

    def fd_tell(self, number: int, at: int) -> None:
        self._put(at, self._file(number).at.to_bytes(8, "little"))

    def fd_readdir(self, number: int, at: int, size: int, cookie: int, size_at: int) -> int | None:
        folder = self._file(number).node
        if folder.kind != DIRECTORY:
            return NOTDIR
        listed = [(".", folder), ("..", folder.parent or folder), *self.files.list(folder).items()]
        out = bytearray()
        for index in range(cookie, len(listed)):
            name, node = listed[index]
            text = name.encode("utf-8", "surrogateescape")
            inode = self.files.status(node).inode
            out += struct.pack("<QQIBxxx", index + 1, inode, len(text), node.kind) + text
            if len(out) >= size:
                break
        self._put(at, out[:size])
        self._put_u32(size_at, min(size, len(out)))
        return None

    # Paths

    def _path(self, number: int, at: int, size: int) -> str:
        text = self._text(at, size)
        folder = self._file(number).node
        if folder.kind != DIRECTORY:
            raise OSError(errno.ENOTDIR, "")
        return text if text.startswith("/") else f"{folder.path.rstrip('/')}/{text}"

    def path_open(
        self, number: int, follow: int, at: int, size: int, how: int,
        rights: int, _inheriting: int, flags: int, number_at: int,
    ) -> int | None:  # fmt: skip
        path = self._path(number, at, size)
        if path in ("/dev/stdin", "/dev/stdout", "/dev/stderr"):
            path = f"/proc/self/fd/{('stdin', 'stdout', 'stderr').index(path[5:])}"
        new = self._free_number()
        if path in _STREAMS:
            self._open[new] = self._descriptor(_STREAMS[path])
            self._put_u32(number_at, new)
            return None
        if path == REQUESTS:
            self._open[new] = OpenFile(Node(DEVICE, self.files.find("/dev"), ".machine"))
            self._put_u32(number_at, new)
            return None
        node = None
        if how & _MAKE:
            found, parent, name = self.files.place(path)
            if found is not None and how & _ANEW:
                return EXIST
            if found is None:
                node = self.files.create(parent, name)
        if node is None:
            node = self.files.find(path, follow=bool(follow & _FOLLOWS))
        if node.kind == LINK:
            return _CODES[errno.ELOOP]
        if how & _FOLDER and node.kind != DIRECTORY:
            return NOTDIR
        if node.kind == DIRECTORY and rights & _WRITES and not how & _FOLDER:
            return ISDIR
        if node.kind == DEVICE and node.name in ("tty", "ptmx"):
            return NXIO
        if how & _EMPTY and node.kind == FILE and self.files.size(node):
            self.files.writable(node).clear()
        self._open[new] = OpenFile(node, 0, flags)
        self._put_u32(number_at, new)
        return None

    def _free_number(self) -> int:
        number = next(n for n in range(ROOT + 1, MOST_OPEN + 1) if n not in self._open)
        if number == MOST_OPEN:
            raise OSError(errno.EMFILE, "")
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
        self._put(at, struct.pack("<QQBxxxxxxxQQQQQ", *fields))

    def path_filestat_set_times(
        self, number: int, follow: int, at: int, size: int, _access: int, mtime_ns: int, flags: int
    ) -> None:
        path = self._path(number, at, size)
        self._set_time(self.files.find(path, follow=bool(follow & _FOLLOWS)), mtime_ns, flags)

    def _set_time(self, node: Node, mtime_ns: int, flags: int) -> None:
        if flags & (4 | 8):
            mtime_us = self._now_ns() // 1_000 if flags & 8 else mtime_ns // 1_000
            self.files.set_time(node, mtime_us)

    def path_create_directory(self, number: int, at: int, size: int) -> int | None:
        found, parent, name = self.files.place(self._path(number, at, size))
        if found is not None:
            return EXIST
        self.files.make_folder(parent, name)
        return None

    def path_unlink_file(self, number: int, at: int, size: int) -> int | None:
        found, _, _ = self.files.place(self._path(number, at, size))
        if found is None:
            return NOENT
        if found.kind == DIRECTORY:
            return ISDIR
        self.files.remove(found)
        return None

    def path_remove_directory(self, number: int, at: int, size: int) -> int | None:
        found, _, _ = self.files.place(self._path(number, at, size))
        if found is None:
            return NOENT
        if found.kind != DIRECTORY:
            return NOTDIR
        if self.files.list(found):
            return NOTEMPTY
        self.files.remove(found)
        return None

    def path_rename(
        self, number: int, at: int, size: int, number_to: int, at_to: int, size_to: int
    ) -> int | None:
        node, _, _ = self.files.place(self._path(number, at, size))
        before, parent, name = self.files.place(self._path(number_to, at_to, size_to))
        if node is None:
            return NOENT
        if before is not None and before is not node:
            if before.kind == DIRECTORY and node.kind != DIRECTORY:
                return ISDIR
            if node.kind == DIRECTORY and before.kind != DIRECTORY:
                return NOTDIR
            if before.kind == DIRECTORY and self.files.list(before):
                return NOTEMPTY
        inside: Node | None = parent
        while inside is not None:
            if inside is node:
                return INVAL
            inside = inside.parent
        self.files.rename(node, parent, name, before)
        return None

    def path_symlink(self, at: int, size: int, number: int, at_to: int, size_to: int) -> int | None:
        found, parent, name = self.files.place(self._path(number, at_to, size_to))
        if found is not None:
            return EXIST
        self.files.make_link(self._text(at, size), parent, name)
        return None

    def path_link(
        self, number: int, follow: int, at: int, size: int, number_to: int, at_to: int, size_to: int
    ) -> int | None:
        """A world has no hard links: as with `ln`, the new name is a copy."""
        node = self.files.find(self._path(number, at, size), follow=bool(follow & _FOLLOWS))
        found, parent, name = self.files.place(self._path(number_to, at_to, size_to))
        if found is not None:
            return EXIST
        if node.kind == DIRECTORY:
            return _CODES[errno.EPERM]
        if node.kind == LINK:
            self.files.make_link(self.files.target(node), parent, name)
            return None
        made = self.files.create(parent, name)
        self.files.writable(made).extend(self.files.read(node))
        self.files.flush(made)
        self.files.set_mode(made, self.files.status(node).mode)
        return None

    def path_readlink(
        self, number: int, at: int, size: int, to: int, room: int, size_at: int
    ) -> int | None:
        node, _, _ = self.files.place(self._path(number, at, size))
        if node is None:
            return NOENT
        if node.kind != LINK:
            return INVAL
        data = self.files.target(node).encode("utf-8", "surrogateescape")[:room]
        self._put(to, data)
        self._put_u32(size_at, len(data))
        return None


CALLS = tuple(
    (
        "args_get args_sizes_get clock_res_get clock_time_get environ_get environ_sizes_get fd_advise fd_allocate"
        " fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights fd_filestat_get"
        " fd_filestat_set_size fd_filestat_set_times fd_pread fd_prestat_dir_name fd_prestat_get fd_pwrite fd_read"
        " fd_readdir fd_renumber fd_seek fd_sync fd_tell fd_write path_create_directory path_filestat_get"
        " path_filestat_set_times path_link path_open path_readlink path_remove_directory path_rename path_symlink"
        " path_unlink_file poll_oneoff proc_exit proc_raise random_get sched_yield sock_accept sock_recv sock_send"
        " sock_shutdown"
    ).split()
)
"""All calls that there are."""


def _no_such_thing(*_: int) -> int:
    """The answer about sockets and rights."""
    return _CODES[errno.ENOTSUP]


def _c_string(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape") + b"\0"


def code_of(error: OSError) -> int:
    """WASI's number of an error."""
    if isinstance(error, BrokenPipeError):
        return _CODES[errno.EPIPE]
    return _CODES.get(error.errno or 0, _CODES[errno.EIO])
