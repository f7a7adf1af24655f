"""One live machine: bashkit's interpreter and files, with our commands, clock and random source.

Everything here is blocking and belongs to one world; `ShellEngine` runs it in a worker thread and
throws it away when a turn fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal

from bashkit import (
    Bash,
    BashError,
    BuiltinContext,
    BuiltinResult,
    ExecResult,
    ExecutionProfile,
    FileSystem,
    ScriptAnalysis,
)

from agentworld_sim.engines.shell import _texts
from agentworld_sim.engines.shell._clock import DeadlinePassed, TurnClock
from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell._files import LiveFiles, quoted
from agentworld_sim.engines.shell._limits import ShellLimits
from agentworld_sim.engines.shell._machine import Machine
from agentworld_sim.engines.shell._session import ShellSession
from agentworld_sim.state._files import Blobs, FileEntry, FileTree

Keep = Literal["nothing", "cwd", "all"]
"""What a tool's shell keeps between calls."""

Ending = Literal["finished", "timeout", "cancelled"]

STDIN_MOUNT = "/proc/self/fd"
"""Where a turn's standard input lies, under its real name."""

NATIVE_THREADS = 512
"""Upper bound only: threads are started on demand and reused."""

_UNBOUNDED = 2**62
_native_pool = ThreadPoolExecutor(NATIVE_THREADS, thread_name_prefix="agentworld-native")

_CHANGES_NOTHING = frozenset(
    "[ basename cat cmp cut date df diff dirname du echo egrep expr false fgrep file fold free grep"
    " groups head hostname id jq ls md5sum nl nproc od paste printenv ps pwd realpath rev seq"
    " sha1sum sha256sum stat tac tail test tr true uname uptime wc which whoami".split()
)
"""Commands that write no file. A script of nothing else needs no look at the files afterwards."""

_KEEPS_TIMES = re.compile(
    r"\b(?:cp|install|mv|touch|tar|unzip|rsync|patch|split|gzip|gunzip|bzip2|bunzip2|ln|dd|truncate)\b"
)


@dataclass(frozen=True, slots=True)
class ShellRun:
    """What came of one script."""

    stdout: str
    stderr: str
    exit_code: int
    session: ShellSession
    """What the shell keeps for the next call."""
    ending: Ending = "finished"


class LiveShell:
    """The machine of one world, up and running.

    A turn is `start_turn`, any number of `run`s and file operations, then `collect`.
    """

    def __init__(
        self,
        machine: Machine,
        commands: Mapping[str, Command],
        *,
        mounts: Mapping[str, FileSystem] | None = None,
        limits: ShellLimits | None = None,
    ) -> None:
        self.machine = machine
        self.limits = limits or ShellLimits()
        self._commands = commands
        self._stdin = FileSystem()
        self._mounts = {**(mounts or {}), STDIN_MOUNT: self._stdin}
        self.files = LiveFiles(self._run_touch, self._mounts)
        self._janitor: Bash | None = None
        self._natives: dict[str, Bash] = {}
        self._callbacks = {
            name: partial(self._call, name, command) for name, command in commands.items()
        }
        self._bash = self._new_bash(self._callbacks)
        self._fresh = self._bash.snapshot(exclude_filesystem=True)
        self._random = Random(0)
        self._failure: BaseException | None = None
        self._look = False
        self._suspicious = False

    # The turn

    def materialise(self, tree: FileTree, blobs: Blobs) -> None:
        """Fills the machine's files. Once, before the first turn."""
        self.files.materialise(tree, blobs)

    def start_turn(self, clock_us: int, seed: int) -> None:
        """Sets the world's clock (µs since the epoch) and random source for the coming turn."""
        self.files.clock = TurnClock(clock_us)
        self._random = Random(seed)
        self._look = self._suspicious = False

    @property
    def random(self) -> Random:
        return self._random

    def note_file_change(self) -> None:
        """Says that files were changed by other means than `run`."""
        self._look = True

    def collect(self, blobs: Blobs) -> dict[str, FileEntry | None]:
        """The turn's changes to files; `{}` for none."""
        if not self._look:
            return {}
        return self.files.collect(blobs, suspicious=self._suspicious)

    def cancel(self) -> None:
        """Stops a running script at its next command. Thread-safe."""
        self._bash.cancel()

    # Running scripts

    def run(
        self,
        script: str,
        session: ShellSession,
        *,
        keep: Keep,
        stdin: bytes | None = None,
        merge: bool = False,
        timeout_us: int | None = None,
    ) -> ShellRun:
        """Runs `script` as `bash -c` would.

        Args:
            script: Any bash text.
            session: What the shell kept from the call before.
            keep: What it shall keep for the next.
            stdin: Bytes to read from; `None` is an empty input.
            merge: Send standard error where standard output goes, in the order of writing.
            timeout_us: World time after which the tool kills the script; `None` for never.

        Raises:
            BaseException: whatever a command of ours raised: it is a failure of the engine, not an
                answer.
        """
        bash = self._bash
        bash.restore_snapshot(session.memory or self._fresh)
        self._failure = None
        runnable, refusal = self._parse(script)
        full = self._prelude(session, stdin, merge=merge) + runnable
        if timeout_us is None:
            result, written = bash.execute_sync(full), None
        else:
            result, written = self._run_until(full, self.files.clock.now_us() + timeout_us)
        if self._failure is not None:
            raise self._failure
        stdout, stderr, exit_code = result.stdout, result.stderr, result.exit_code
        ending: Ending = "finished"
        state = bash.shell_state()
        if result.error is not None:
            ending, stderr, exit_code = _texts.limit_reached(result.error, stderr)
        if written is not None:
            ending, stdout, stderr, exit_code = "timeout", *written, 124
        if refusal is not None and ending == "finished" and not _texts.exited(runnable):
            stdout, stderr = (stdout + refusal, stderr) if merge else (stdout, stderr + refusal)
            exit_code = _texts.SYNTAX_ERROR
        stdout, stderr = _texts.plain(stdout), _texts.plain(stderr)
        if session.exit_code and "x" in session.options:
            stderr = stderr.removeprefix(f"+ exit {session.exit_code}\n")
        after = ShellSession()
        if keep != "nothing":
            after = ShellSession(cwd=state.cwd)
        if keep == "all":
            after = ShellSession(
                cwd=state.cwd,
                memory=bash.snapshot(exclude_filesystem=True),
                options=tuple(sorted(_options(state.variables))),
                traps=tuple(sorted(state.traps.items())),
                exit_code=exit_code,
            )
        return ShellRun(stdout, stderr, exit_code, after, ending)

    def _run_until(
        self, script: str, deadline_us: int
    ) -> tuple[ExecResult, tuple[str, str] | None]:
        """Runs `script`; if it does not end in time, also what it had written until then."""
        clock, bash = self.files.clock, self._bash
        chunks: list[tuple[str, str]] = []
        clock.deadline_us = deadline_us
        try:
            # A cancelled run forgets its output; the sink has seen it.
            result = bash.execute_sync(script, lambda out, err: chunks.append((out, err)))
        finally:
            clock.deadline_us = None
        if isinstance(self._failure, DeadlinePassed):
            self._failure = None
            bash.clear_cancel()
        elif result.error is None or "timeout" not in result.error:
            return result, None
        clock.sleep(deadline_us - clock.now_us())
        return result, ("".join(out for out, _ in chunks), "".join(err for _, err in chunks))

    def _parse(self, script: str) -> tuple[str, str | None]:
        """The part of `script` that parses, and what bash says of the first line that does not."""
        try:
            analysis = self._bash.analyze(script)
        except BashError as error:
            self._look = self._suspicious = True
            return _texts.split_at_syntax_error(script, str(error), self._bash.analyze)
        self._judge(analysis, script)
        return script, None

    def _judge(self, analysis: ScriptAnalysis, script: str) -> None:
        """Decides whether the files must be looked at after this script, and how closely."""
        opaque = analysis.is_opaque or analysis.has_interpreter_reentry or bool(analysis.functions)
        names = set(analysis.command_names)
        writes = any(redirect.is_write for redirect in analysis.redirects)
        if opaque or writes or not names <= _CHANGES_NOTHING:
            self._look = True
        if opaque or names & _RUNS_OTHERS or _KEEPS_TIMES.search(script):
            self._suspicious = True

    def _prelude(self, session: ShellSession, stdin: bytes | None, *, merge: bool = False) -> str:
        """Sets what bashkit forgets, on the script's first line so that line numbers stay right."""
        now_us = self.files.clock.now_us()
        parts = [
            f"RANDOM={self._random.randrange(32768)} EPOCHSECONDS={now_us // 1_000_000}"
            f" EPOCHREALTIME={now_us // 1_000_000}.{now_us % 1_000_000:06d}"
        ]
        self._stdin.write_file("/0", stdin or b"")
        if stdin:
            parts.append(f"exec < {STDIN_MOUNT}/0")
        cwd = session.cwd or self.machine.workdir
        if session.memory is None and cwd != "/":
            parts.append(f"cd {quoted(cwd)} 2>/dev/null")
            parts.append("unset OLDPWD")
        parts += [f"trap -- {quoted(command)} {name}" for name, command in session.traps]
        names = [name for name in session.options if len(name) == 1]
        parts += [f"set -o {name}" for name in session.options if len(name) > 1]
        if merge:
            parts.append("exec 2>&1")
        parts.append(": bash")
        if names:
            parts.append(f"set -{''.join(names)}")
        if session.exit_code and "e" not in session.options:
            parts.append(f"(exit {session.exit_code})")
        return "; ".join(parts) + "; "

    def _new_bash(self, callbacks: Mapping[str, Callable[[BuiltinContext], BuiltinResult]]) -> Bash:
        machine = self.machine
        bash = Bash(
            username=machine.user,
            hostname=machine.hostname,
            cwd=machine.workdir,
            env=_environment(machine),
            max_commands=self.limits.commands,
            max_loop_iterations=self.limits.loop_iterations,
            max_memory=self.limits.memory_bytes,
            timeout_seconds=self.limits.wall_seconds,
            custom_builtins=callbacks,
            profile=ExecutionProfile.Interactive,
        )
        bash.mount("/", self.files.fs)
        for point, fs in self._mounts.items():
            bash.mount(point, fs, read_only=True)
        return bash

    # Commands

    def _call(self, name: str, command: Command, context: BuiltinContext) -> BuiltinResult:
        call = CommandCall(
            name=context.name,
            argv=context.argv,
            stdin=context.stdin,
            env=context.env,
            cwd=context.cwd,
            files=self.files,
            clock=self.files.clock,
            random=self._random,
            machine=self.machine,
            native=partial(self._native, name, context),
        )
        try:
            result = command(call)
        except BaseException as failure:
            # bashkit would print the exception into the session and go on.
            self._failure = failure
            self._bash.cancel()
            return BuiltinResult("", "", 1)
        return BuiltinResult(result.stdout, result.stderr, result.exit_code)

    def _native(
        self,
        name: str,
        context: BuiltinContext,
        argv: Sequence[str] | None = None,
        stdin: str | None = None,
    ) -> CommandResult:
        """bashkit's own `name`, in an interpreter beside the running one, on the same files."""
        bare = name.rpartition("/")[2]
        words = [bare, *(context.argv if argv is None else argv)]
        text = context.stdin if stdin is None else stdin
        script = f"cd {quoted(context.cwd)} && {' '.join(map(quoted, words))}"
        if text is not None:
            self._stdin.write_file(f"/{bare}", text.encode("utf-8", "surrogateescape"))
            script += f" < {STDIN_MOUNT}/{quoted(bare)}"
        # Whatever bashkit does inside a bashkit callback must come from another thread.
        result = _native_pool.submit(lambda: self._native_bash(bare).execute_sync(script)).result()
        if self._failure is not None:
            raise self._failure
        return CommandResult(
            _texts.plain(result.stdout), _texts.plain(result.stderr), result.exit_code
        )

    def _native_bash(self, bare: str) -> Bash:
        bash = self._natives.get(bare)
        if bash is None:
            others = {
                other: callback
                for other, callback in self._callbacks.items()
                if other.rpartition("/")[2] != bare
            }
            bash = self._natives[bare] = self._new_bash(others)
        return bash

    def _run_touch(self, script: str) -> None:
        result = _native_pool.submit(lambda: self._janitor_bash().execute_sync(script)).result()
        if result.exit_code:
            raise RuntimeError(f"could not set a file's time: {result.stderr.strip()}")

    def _janitor_bash(self) -> Bash:
        if self._janitor is None:
            self._janitor = Bash(
                profile=ExecutionProfile.Interactive,
                max_commands=_UNBOUNDED,
                max_loop_iterations=_UNBOUNDED,
            )
            self._janitor.mount("/", self.files.fs)
        return self._janitor


_RUNS_OTHERS = frozenset({"bash", "sh", "make", "xargs", "find", "env", "timeout", "sudo", "nohup"})


def _options(variables: Mapping[str, str]) -> list[str]:
    """What `set -o` has on: bashkit shows each as a variable until the next call begins."""
    return [
        name.removeprefix("SHOPT_")
        for name, value in variables.items()
        if value == "1" and name.startswith("SHOPT_") and name.removeprefix("SHOPT_") in _SET_NAMES
    ]


_SET_NAMES = frozenset("a b e f h k m n p t u v x B C E H P T pipefail posix vi emacs".split())


def _environment(machine: Machine) -> dict[str, str]:
    return {
        "HOME": machine.home,
        "LANG": "C.UTF-8",
        "LOGNAME": machine.user,
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "SHELL": "/bin/bash",
        "TERM": "xterm-256color",
        "USER": machine.user,
        # bashkit's own are 1000 and cannot be assigned later; `env` and `export -p` hide these two.
        "UID": "0" if machine.user == "root" else "1000",
        "EUID": "0" if machine.user == "root" else "1000",
        **dict(machine.env),
    }
