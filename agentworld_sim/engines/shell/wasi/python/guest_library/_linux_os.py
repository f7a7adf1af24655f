"""The calls of `os` that WASI has not got."""

import errno

from _linux_host import ask, host, spawn, write_all


def _true_status(seen):
    # Mode bits and owners stand above the device's number.
    fields, more = seen.__reduce__()[1]
    device = fields[2]
    fields = list(fields)
    fields[0] = fields[0] & 0o170000 | device >> 16 & 0o7777
    fields[2] = device & 0xFFFF
    fields[4], fields[5] = device >> 32 & 0xFFFF, device >> 48 & 0xFFFF
    return type(seen)(fields, more)


class DirEntry:
    __slots__ = ("_entry", "name", "path")

    def __init__(self, entry):
        self._entry, self.name, self.path = entry, entry.name, entry.path

    def is_dir(self, *, follow_symlinks=True):
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        return self._entry.is_file(follow_symlinks=follow_symlinks)

    def is_symlink(self):
        return self._entry.is_symlink()

    def is_junction(self):
        return False

    def inode(self):
        return self._entry.inode()

    def stat(self, *, follow_symlinks=True):
        return _true_status(self._entry.stat(follow_symlinks=follow_symlinks))

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


class _Scan:
    def __init__(self, entries):
        self._entries = entries

    def __iter__(self):
        return self

    def __next__(self):
        return DirEntry(next(self._entries))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._entries.close()


class _Popen:
    """What `os.popen` gives."""

    def __init__(self, stream, process):
        self._stream, self._process = stream, process

    def close(self):
        self._stream.close()
        code = self._process.wait()
        return None if code == 0 else code << 8

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def __iter__(self):
        return iter(self._stream)


def enter(os):
    real = {name: getattr(os, name) for name in ("stat", "lstat", "fstat", "scandir", "access")}
    mask = [0o022]

    def stat(path, *, dir_fd=None, follow_symlinks=True):
        return _true_status(real["stat"](path, dir_fd=dir_fd, follow_symlinks=follow_symlinks))

    def lstat(path, *, dir_fd=None):
        return _true_status(real["lstat"](path, dir_fd=dir_fd))

    def fstat(fd):
        return _true_status(real["fstat"](fd))

    def scandir(path="."):
        return _Scan(real["scandir"](path))

    def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
        if not real["access"](path, mode & ~os.X_OK, dir_fd=dir_fd):
            return False
        return not mode & os.X_OK or bool(stat(path, dir_fd=dir_fd).st_mode & 0o111)

    def absolute(path):
        return os.path.join(os.getcwd(), os.fsdecode(path))

    def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
        try:
            ask("chmod", path=absolute(path), mode=mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None

    def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
        try:
            ask("chown", path=absolute(path), uid=uid, gid=gid, follow=follow_symlinks)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None

    def dup(fd):
        return ask("dup", fd=fd)[0]["fd"]

    def dup2(fd, fd2, inheritable=True):
        return ask("dup", fd=fd, to=fd2)[0]["fd"]

    def umask(new):
        before, mask[0] = mask[0], new & 0o777
        return before

    def uname():
        return os.uname_result(host("uname"))

    def system(command):
        code, out, err = spawn(["/bin/sh", "-c", os.fsdecode(command)])
        write_all(1, out)
        write_all(2, err)
        return code << 8

    def popen(cmd, mode="r", buffering=-1):
        import subprocess

        if not isinstance(cmd, str):
            raise TypeError(f"invalid cmd type ({type(cmd)}, expected string)")
        if mode not in ("r", "w"):
            raise ValueError(f"invalid mode {mode!r}")
        pipe = {"stdout" if mode == "r" else "stdin": subprocess.PIPE}
        process = subprocess.Popen(cmd, shell=True, text=True, **pipe)
        return _Popen(process.stdout or process.stdin, process)

    def fork():
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def execve(path, args, env):
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        code, out, err = spawn(
            [os.fsdecode(path), *map(os.fsdecode, list(args)[1:])], env=dict(env)
        )
        write_all(1, out)
        write_all(2, err)
        os._exit(code)

    def kill(pid, number):
        if pid == os.getpid():
            if number and number in (9, 19):
                os._exit(128 + number)
            if number:
                import signal

                if signal.getsignal(number) == signal.SIG_DFL:
                    os._exit(128 + number)
                signal.raise_signal(number)
        elif spawn(["kill", f"-{int(number)}", str(pid)])[0]:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))

    def no_terminal(*_):
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    def no_child(*_):
        raise ChildProcessError(errno.ECHILD, "No child processes")

    def sysconf(name):
        values = {"SC_NPROCESSORS_ONLN": host("cpus"), "SC_NPROCESSORS_CONF": host("cpus")}
        values |= {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": host("memory_kib") // 4}
        values |= {"SC_CLK_TCK": 100, "SC_OPEN_MAX": 1024, "SC_ARG_MAX": 2097152}
        try:
            return values[name]
        except KeyError:
            raise ValueError("unrecognized configuration name") from None

    def confstr(name):
        return "glibc 2.36" if name == "CS_GNU_LIBC_VERSION" else None

    functions = {one.__name__: one for one in (
        stat, lstat, fstat, scandir, access, chmod, chown, dup, dup2, umask, uname, system, popen, fork, execve, kill,
        sysconf, confstr,
    )}  # fmt: skip
    functions |= dict.fromkeys(
        ("get_terminal_size", "ttyname", "getlogin", "tcgetpgrp"), no_terminal
    )
    functions |= dict.fromkeys(("wait", "waitpid"), no_child)
    for name in ("getuid", "geteuid", "getgid", "getegid", "getgroups", "getpid", "getppid"):
        key = name.replace("gete", "get")
        functions[name] = lambda key=key: host(key[3:])
    functions |= {
        "lchown": lambda path, uid, gid: chown(path, uid, gid, follow_symlinks=False),
        "execv": lambda path, args: execve(path, args, os.environ),
        "cpu_count": lambda: host("cpus"),
        "sched_getaffinity": lambda pid: set(range(host("cpus"))),
        "getloadavg": lambda: (0.0, 0.0, 0.0),
        "getpgid": lambda pid: host("pid"),
        "register_at_fork": lambda **_: None,
        "waitstatus_to_exitcode": lambda status: status >> 8 if status & 0x7F == 0 else -(status & 0x7F),
        "WEXITSTATUS": lambda status: status >> 8,
        "WIFEXITED": lambda status: status & 0x7F == 0,
        "WIFSTOPPED": lambda status: False,
        "WSTOPSIG": lambda status: 0,
        "WIFSIGNALED": lambda status: status & 0x7F != 0,
        "WTERMSIG": lambda status: status & 0x7F,
        "WNOHANG": 1, "WUNTRACED": 2, "P_WAIT": 0, "P_NOWAIT": 1,
    }  # fmt: skip
    for name, value in functions.items():
        setattr(os, name, value)
    os.DirEntry = DirEntry
    os.supports_follow_symlinks |= {stat, access}
    os.supports_effective_ids |= {access}
