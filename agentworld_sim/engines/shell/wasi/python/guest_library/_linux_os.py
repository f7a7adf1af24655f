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


class _Around:
    """What the interpreter gives, with something changed."""

    def __init__(self, of):
        self._of = of

    def __getattr__(self, name):
        return getattr(self._of, name)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._of)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class DirEntry(_Around):
    def stat(self, *, follow_symlinks=True):
        return _true_status(self._of.stat(follow_symlinks=follow_symlinks))

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


class _Scan(_Around):
    def __next__(self):
        return DirEntry(next(self._of))


class _Popen(_Around):
    """What `os.popen` gives."""

    def close(self):
        self._of.close()
        code = self.process.wait()
        return None if code == 0 else code << 8


def enter(os):
    real_scandir, real_access = os.scandir, os.access
    mask = [0o022]

    def with_status(call):
        return lambda *given, **more: _true_status(call(*given, **more))

    stat, lstat, fstat = map(with_status, (os.stat, os.lstat, os.fstat))

    def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
        if not real_access(path, mode & ~os.X_OK, dir_fd=dir_fd):
            return False
        return not mode & os.X_OK or bool(stat(path, dir_fd=dir_fd).st_mode & 0o111)

    def change(what, path, **fields):
        try:
            ask(what, path=os.path.join(os.getcwd(), os.fsdecode(path)), **fields)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None

    def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
        change("chown", path, uid=uid, gid=gid, follow=follow_symlinks)

    def umask(new):
        before, mask[0] = mask[0], new & 0o777
        return before

    def run(argv, env=None):
        code, out, err = spawn(list(map(os.fsdecode, argv)), env=env)
        write_all(1, out)
        write_all(2, err)
        return code

    def system(command):
        return run(["/bin/sh", "-c", command]) << 8

    def popen(cmd, mode="r", buffering=-1):
        import subprocess

        pipe = {"stdout" if mode == "r" else "stdin": subprocess.PIPE}
        process = subprocess.Popen(cmd, shell=True, text=True, **pipe)
        stream = _Popen(process.stdout or process.stdin)
        stream.process = process
        return stream

    def fail(code, text):
        def call(*_):
            raise OSError(code, text)

        return call

    def execve(path, args, env):
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        os._exit(run([path, *list(args)[1:]], dict(env)))

    def kill(pid, number):
        if pid == os.getpid():
            import signal

            if number in (9, 19) or number and signal.getsignal(number) == signal.SIG_DFL:
                os._exit(128 + number)
            if number:
                signal.raise_signal(number)
        elif spawn(["kill", f"-{int(number)}", str(pid)])[0]:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))

    def sysconf(name):
        values = {"SC_NPROCESSORS_ONLN": host("cpus"), "SC_NPROCESSORS_CONF": host("cpus")}
        values |= {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": host("memory_kib") // 4}
        if name not in values:
            raise ValueError("unrecognized configuration name")
        return values[name]

    named = access, chown, umask, system, popen, execve, kill, sysconf
    functions = {one.__name__: one for one in named}
    no_child = fail(errno.ECHILD, "No child processes")
    no_terminal = fail(errno.ENOTTY, "Inappropriate ioctl for device")
    for name in ("getuid", "geteuid", "getgid", "getegid", "getgroups", "getpid", "getppid"):
        key = name.replace("gete", "get")
        functions[name] = lambda key=key: host(key[3:])
    functions |= {
        "stat": stat, "lstat": lstat, "fstat": fstat, "DirEntry": DirEntry,
        "wait": no_child, "waitpid": no_child,
        "get_terminal_size": no_terminal, "ttyname": no_terminal, "getlogin": no_terminal,
        "scandir": lambda path=".": _Scan(real_scandir(path)),
        "chmod": lambda path, mode, *, dir_fd=None, follow_symlinks=True: change("chmod", path, mode=mode),
        "dup": lambda fd: ask("dup", fd=fd)[0]["fd"],
        "dup2": lambda fd, fd2, inheritable=True: ask("dup", fd=fd, to=fd2)[0]["fd"],
        "uname": lambda: os.uname_result(host("uname")),
        "fork": fail(errno.EAGAIN, "Resource temporarily unavailable"),
        "confstr": lambda name: "glibc 2.36" if name == "CS_GNU_LIBC_VERSION" else None,
        "lchown": lambda path, uid, gid: chown(path, uid, gid, follow_symlinks=False),
        "execv": lambda path, args: execve(path, args, os.environ),
        "cpu_count": lambda: host("cpus"),
        "sched_getaffinity": lambda pid: set(range(host("cpus"))),
        "register_at_fork": lambda **_: None,
        "waitstatus_to_exitcode": lambda status: status >> 8 if status & 0x7F == 0 else -(status & 0x7F),
        "WEXITSTATUS": lambda status: status >> 8,
        "WIFEXITED": lambda status: status & 0x7F == 0,
        "WIFSTOPPED": lambda status: False,
        "WSTOPSIG": lambda status: 0,
        "WIFSIGNALED": lambda status: status & 0x7F != 0,
        "WTERMSIG": lambda status: status & 0x7F,
        "WNOHANG": 1, "WUNTRACED": 2,
    }  # fmt: skip
    vars(os).update(functions)
    os.supports_follow_symlinks |= {stat, access}
    os.supports_effective_ids |= {access}
