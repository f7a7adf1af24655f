"""`gzip` and `gunzip`. What passes through a pipe is base64 here (see `shims.bash`)."""

from __future__ import annotations

import gzip as zipped
import io
import zlib
from base64 import b64decode, b64encode

from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool

_OPTIONS = Options(
    "123456789cdfknNqt",
    {
        "stdout": "c", "to-stdout": "c", "decompress": "d", "uncompress": "d", "force": "f",
        "keep": "k", "no-name": "n", "name": "N", "quiet": "q",
        "test": "t", "fast": "1", "best": "9",
    },
)  # fmt: skip
_KNOWN = (".gz", ".tgz", ".taz", ".z", ".Z", "-gz", "-z")


class _Gzip:
    def __init__(self, running: Tool, given: CommandLine, *, unpack: bool) -> None:
        self.tool, self.given = running, given
        self.unpack = unpack or any(name in given for name in ("d", "t"))
        self.output = b""

    def warn(self, text: str) -> None:
        # An error is never undone by a later warning.
        self.tool.err.append(f"gzip: {text}\n")
        self.tool.code = self.tool.code or 2

    def fail(self, text: str) -> None:
        self.tool.err.append(f"gzip: {text}\n")
        self.tool.code = 1

    def run(self) -> None:
        for operand in self.given.operands or ("-",):
            if operand == "-":
                self._stream()
            else:
                self._operand(operand)
        self.tool.out.append(b64encode(self.output).decode())

    def _stream(self) -> None:
        data = b64decode(self.tool.call.stdin or "")
        if self.unpack:
            self.output += self._gunzip_bytes("stdin", data) or b""
        else:
            self.output += _compress(data, self._level(), 0, "")

    def _level(self) -> int:
        return int(self.given.last(*"123456789") or "6")

    def _operand(self, operand: str) -> None:
        files, path = self.tool.files, self.tool.path(operand)
        try:
            stat = files.stat(path) if files.exists(path) else files.lstat(path)
        except OSError as error:
            if self.unpack and not operand.endswith(_KNOWN):
                operand += ".gz"
                path = self.tool.path(operand)
            if not files.exists(path):
                self.fail(f"{operand}: {strerror(error)}")
                return
            stat = files.stat(path)
        if stat.kind == "directory":
            self.warn(f"{operand} is a directory -- ignored")
            return
        if files.lstat(path).kind == "symlink" and not any(n in self.given for n in "fct"):
            self.fail(f"{operand}: Too many levels of symbolic links")
            return
        if self.unpack:
            self._decompress(operand, path)
        else:
            self._compress_file(operand, path)

    def _compress_file(self, operand: str, path: str) -> None:
        if operand.endswith(_KNOWN) and not any(name in self.given for name in "cf"):
            suffix = next(suffix for suffix in _KNOWN if operand.endswith(suffix))
            self.tool.complain(f"{operand} already has {suffix} suffix -- unchanged", 0)
            return
        seconds = self.tool.files.stat(path).mtime_us // 1_000_000
        name, mtime = ("", 0) if "n" in self.given else (operand.rpartition("/")[2], seconds)
        out = _compress(self.tool.files.read(path), self._level(), mtime, name)
        self._replace(path, operand + ".gz", out)

    def _decompress(self, operand: str, path: str) -> None:
        if not operand.endswith(_KNOWN) and not any(name in self.given for name in "tcf"):
            self.warn(f"{operand}: unknown suffix -- ignored")
            return
        out = self._gunzip_bytes(operand, self.tool.files.read(path))
        if out is not None and "t" not in self.given:
            self._replace(path, _output_name(operand), out)

    def _gunzip_bytes(self, name: str, data: bytes) -> bytes | None:
        if data[:2] != b"\x1f\x8b" and "c" in self.given and "f" in self.given:
            return data
        try:
            if not data:
                raise EOFError
            out = zipped.decompress(data)
        except zipped.BadGzipFile as error:
            crc = "crc" in str(error).lower()
            problem = "invalid compressed data--crc error" if crc else "not in gzip format"
        except EOFError:
            problem = "unexpected end of file"
        except zlib.error:
            problem = "invalid compressed data--format violated"
        else:
            return b"" if "t" in self.given else out
        self.tool.err.append("\n")
        self.fail(f"{name}: {problem}")
        return None

    def _replace(self, path: str, target: str, data: bytes) -> None:
        files = self.tool.files
        if "c" in self.given:
            self.output += data
            return
        goal = self.tool.path(target)
        if files.exists(goal) and "f" not in self.given:
            self.warn(f"{target} already exists;\tnot overwritten")
            return
        stat = files.stat(path)
        files.write(goal, data, mode=stat.mode)
        files.chown(goal, stat.owner, stat.group)
        files.set_mtime(goal, stat.mtime_us)
        if "k" not in self.given:
            files.remove(path)


def _compress(data: bytes, level: int, mtime: int, name: str) -> bytes:
    buffer = io.BytesIO()
    with zipped.GzipFile(name, "wb", level, buffer, mtime) as out:
        out.write(data)
    # Python does not say which system wrote it.
    return buffer.getvalue()[:9] + b"\x03" + buffer.getvalue()[10:]


def _output_name(name: str) -> str:
    ending = next((ending for ending in _KNOWN if name.endswith(ending)), "")
    return name.removesuffix(ending) + (".tar" if ending in (".tgz", ".taz") else "")


def _run(running: Tool, *, unpack: bool) -> None:
    running.name = "gzip"
    try:
        given = _OPTIONS.parse("gzip", running.call.argv)
    except UsageError as refused:
        text = refused.result.stderr.replace("Try 'gzip", "Try `gzip")
        raise UsageError(text, 1) from None
    _Gzip(running, given, unpack=unpack).run()


@tool
def gzip(running: Tool) -> None:
    _run(running, unpack=False)


@tool
def gunzip(running: Tool) -> None:
    _run(running, unpack=True)
