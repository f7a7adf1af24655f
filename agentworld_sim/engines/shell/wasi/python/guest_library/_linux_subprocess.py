"""Processes: one runs whole, when the program first waits for it or reads what it says; the rest run at the end."""

import atexit
import errno
import io
import itertools
import os

from _linux_host import host, spawn, write_all

_numbers = itertools.count(1)


class _Output(io.RawIOBase):
    """The reading end of a pipe from a process."""

    def __init__(self, process, data=None):
        self._process, self._data, self._at = process, data, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        if self._data is None:
            self._process._run()
        piece = self._data[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


class _Input(io.RawIOBase):
    """The writing end of a pipe to a process."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


def _wrap(raw, mode, bufsize, text, encoding, errors):
    stream = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(stream, encoding, errors, write_through=True) if text else stream


def _find(program, env, cwd):
    if "/" in program:
        places = [os.path.join(cwd, program)]
    else:
        places = [
            os.path.join(cwd, folder, program) for folder in env.get("PATH", os.defpath).split(":")
        ]
    there = [place for place in places if os.path.isfile(place)]
    if any(os.access(place, os.X_OK) for place in there):
        return
    code = errno.EACCES if there else errno.ENOENT
    raise OSError(code, os.strerror(code), program)


def enter(subprocess):
    PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
    waiting = []

    class Popen:
        _child_created = True

        def __init__(
            self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, preexec_fn=None,
            close_fds=True, shell=False, cwd=None, env=None, universal_newlines=None, startupinfo=None,
            creationflags=0, restore_signals=True, start_new_session=False, pass_fds=(), *, user=None, group=None,
            extra_groups=None, encoding=None, errors=None, text=None, umask=-1, pipesize=-1, process_group=None,
        ):  # fmt: skip
            if not isinstance(bufsize, int):
                raise TypeError("bufsize must be an integer")
            if (
                text is not None
                and universal_newlines is not None
                and bool(universal_newlines) != bool(text)
            ):
                raise subprocess.SubprocessError(
                    "Cannot disambiguate when both text and universal_newlines are supplied but"
                    " different. Pass one or the other."
                )
            self.args, self.returncode = args, None
            self.pid = host("pid") + next(_numbers)
            self.text_mode = bool(encoding or errors or text or universal_newlines)
            self.encoding, self.errors = encoding, errors
            words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args)
            words = [os.fsdecode(word) for word in words]
            self._cwd = os.path.join(os.getcwd(), os.fsdecode(cwd or ""))
            self._env = dict(os.environ) if env is None else {
                os.fsdecode(name): os.fsdecode(value) for name, value in env.items()
            }  # fmt: skip
            if not os.path.isdir(self._cwd):
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), cwd)
            if shell:
                words = ["/bin/sh" if executable is None else os.fsdecode(executable), "-c", *words]
            else:
                if executable is not None:
                    words[0] = os.fsdecode(executable)
                _find(words[0], os.environ if env is None else self._env, self._cwd)
            if preexec_fn is not None:
                preexec_fn()
            self._words = words
            self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
            self._timeout = None

            def pipe(raw, mode):
                return _wrap(raw, mode, bufsize, self.text_mode, encoding, errors)

            self._raw = {}
            self.stdin = self.stdout = self.stderr = None
            if stdin == PIPE:
                self._raw[0] = _Input()
                self.stdin = pipe(self._raw[0], "w")
            if stdout == PIPE:
                self._raw[1] = _Output(self)
                self.stdout = pipe(self._raw[1], "r")
            if stderr == PIPE:
                self._raw[2] = _Output(self)
                self.stderr = pipe(self._raw[2], "r")
            waiting.append(self)

        def __repr__(self):
            text = f"<{type(self).__name__}: returncode: {self.returncode} args: {self.args!r}>"
            return text if len(text) <= 80 else text[:76] + "...>"

        def _input(self):
            source = self._stdin
            if source == PIPE:
                if not self.stdin.closed:
                    self.stdin.flush()
                return bytes(self._raw[0].data)
            if source is None or source == DEVNULL:
                return b""
            if isinstance(source, int):
                return b"".join(iter(lambda: os.read(source, 1 << 20), b""))
            if isinstance(source, io.TextIOBase):
                source = source.buffer
            if isinstance(getattr(source, "raw", None), _Output):
                return source.read()
            number = source.fileno()
            return b"".join(iter(lambda: os.read(number, 1 << 20), b""))

        def _run(self):
            if self.returncode is not None:
                return
            if self in waiting:
                waiting.remove(self)
            words = self._words
            if self._timeout is not None:
                words = ["timeout", str(self._timeout), *words]
            code, out, err = spawn(
                words, self._input(), self._cwd, self._env, self._stderr == STDOUT
            )
            late = self._timeout is not None and code == 124
            self.returncode = (
                -9
                if late
                else 128 - code
                if 128 < code < 160 and self._words[1:2] != ["-c"]
                else code
            )
            for number, target, data in ((1, self._stdout, out), (2, self._stderr, err)):
                if target == PIPE:
                    self._raw[number]._data = data
                elif target is None:
                    write_all(number, data)
                elif target == STDOUT or target == DEVNULL:
                    continue
                else:
                    write_all(target if isinstance(target, int) else target.fileno(), data)
            if late:
                raise subprocess.TimeoutExpired(self.args, self._timeout, out or None, err or None)

        def poll(self):
            if self.stdin is None or self.stdin.closed:
                self._run()
            return self.returncode

        def wait(self, timeout=None):
            self._timeout = timeout
            self._run()
            return self.returncode

        def communicate(self, input=None, timeout=None):
            if self.stdin is not None and not self.stdin.closed:
                if input:
                    self.stdin.write(input)
                self.stdin.close()
            elif input:
                raise ValueError("Cannot send input after starting communication")
            self.wait(timeout)
            return self.stdout and self.stdout.read(), self.stderr and self.stderr.read()

        def send_signal(self, sig):
            if self.returncode is None:
                self.returncode = -sig
                waiting.remove(self)
                for number in (1, 2):
                    if number in self._raw:
                        self._raw[number]._data = b""

        def terminate(self):
            self.send_signal(15)

        def kill(self):
            self.send_signal(9)

        def __enter__(self):
            return self

        def __exit__(self, kind, value, traceback):
            if self.stdin:
                self.stdin.close()
            if kind is None:
                self.wait(self._timeout)

        universal_newlines = property(lambda self: self.text_mode)
        __class_getitem__ = classmethod(subprocess.types.GenericAlias)

    Popen.__module__, Popen.__qualname__ = "subprocess", "Popen"
    subprocess.Popen = Popen

    @atexit.register
    def run_the_rest():
        for process in waiting[:]:
            process._run()
