"""Processes: one runs whole, when the program first waits for it or reads what it says; the rest run at the end."""

import atexit
import errno
import io
import itertools
import os
import time

from _linux_host import host, read_all, spawn, write_all

_numbers = itertools.count(1)


class _Output(io.RawIOBase):
    """The reading end of a pipe from a process."""

    def __init__(self, process):
        self._process, self.data = process, None

    def readable(self):
        return True

    def readinto(self, buffer):
        if self.data is None:
            self._process._run()
        return self.data.readinto(buffer)


class _Input(io.RawIOBase):
    """The writing end of a pipe to a process."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += data
        return len(data)


def _find(program, env, cwd):
    folders = [""] if "/" in program else env.get("PATH", os.defpath).split(":")
    places = [os.path.join(cwd, folder, program) for folder in folders]
    there = [place for place in places if os.path.isfile(place)]
    if any(os.access(place, os.X_OK) for place in there):
        return
    code = errno.EACCES if there else errno.ENOENT
    raise OSError(code, os.strerror(code), program)


def enter(subprocess):
    PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
    waiting = []

    class Popen(subprocess.Popen):
        def __init__(
            self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, preexec_fn=None,
            close_fds=True, shell=False, cwd=None, env=None, universal_newlines=None, startupinfo=None,
            creationflags=0, restore_signals=True, start_new_session=False, pass_fds=(), *, user=None, group=None,
            extra_groups=None, encoding=None, errors=None, text=None, umask=-1, pipesize=-1, process_group=None,
        ):  # fmt: skip
            self.args, self.returncode = args, None
            self.pid = host("pid") + next(_numbers)
            self.text_mode = bool(encoding or errors or text or universal_newlines)
            self.encoding, self.errors = encoding, errors
            words = [args] if isinstance(args, (str, bytes, os.PathLike)) else args
            words = [os.fsdecode(word) for word in words]
            self._cwd = os.path.join(os.getcwd(), os.fsdecode(cwd or ""))
            given = dict(os.environ if env is None else env)
            self._env = {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}
            if not os.path.isdir(self._cwd):
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), cwd)
            words = ["/bin/sh", "-c", *words] if shell else words
            if executable is not None:
                words[0] = os.fsdecode(executable)
            if not shell:
                _find(words[0], self._env, self._cwd)
            if preexec_fn is not None:
                preexec_fn()
            self._words, self._shell = words, shell
            self._stdin, self._targets = stdin, (stdout, stderr)
            self._timeout, self._began = None, time.monotonic()

            def pipe(raw, mode):
                stream = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
                if not self.text_mode:
                    return stream
                return io.TextIOWrapper(stream, encoding, errors, write_through=True)

            self._raw = [_Input(), _Output(self), _Output(self)]
            self.stdin, self.stdout, self.stderr = (
                pipe(raw, mode) if target == PIPE else None
                for raw, mode, target in zip(self._raw, "wrr", (stdin, stdout, stderr))
            )
            waiting.append(self)

        def _input(self):
            source = self._stdin
            if source == PIPE:
                if not self.stdin.closed:
                    self.stdin.flush()
                return bytes(self._raw[0].data)
            if source is None or source == DEVNULL:
                return b""
            source = getattr(source, "buffer", source)
            if isinstance(getattr(source, "raw", None), _Output):
                return source.read()
            return read_all(source if isinstance(source, int) else source.fileno())

        def _run(self):
            if self.returncode is not None:
                return
            if self in waiting:
                waiting.remove(self)
            words = self._words
            if self._timeout is not None:
                words = ["timeout", str(self._timeout), *words]
            merge = self._targets[1] == STDOUT
            code, *outputs = spawn(words, self._input(), self._cwd, self._env, merge)
            late = self._timeout is not None and code == 124
            ended = 128 < code < 160 and not self._shell
            self.returncode = -9 if late else 128 - code if ended else code
            for number, target, data in zip((1, 2), self._targets, outputs):
                self._raw[number].data = io.BytesIO(data)
                if target is None:
                    write_all(number, data)
                elif target not in (PIPE, STDOUT, DEVNULL):
                    write_all(target if isinstance(target, int) else target.fileno(), data)
            if late:
                out, err = (data or None for data in outputs)
                raise subprocess.TimeoutExpired(self.args, self._timeout, out, err)

        def poll(self):
            # It has started just now, or waits for its input.
            if time.monotonic() > self._began + 0.01 and (self.stdin is None or self.stdin.closed):
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
                self._raw[1].data = self._raw[2].data = io.BytesIO()

    Popen.__module__, Popen.__qualname__ = "subprocess", "Popen"
    subprocess.Popen = Popen

    @atexit.register
    def run_the_rest():
        for process in waiting[:]:
            process._run()
