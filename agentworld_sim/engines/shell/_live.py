"""One live machine: bashkit's interpreter and files, with our commands, clock and random source.

Everything here is blocking and belongs to one world; `ShellEngine` runs it in a worker thread and
throws it away when a turn fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal, TypeVar
from weakref import WeakMethod

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
from agentworld_sim.engines.shell._command import (
    Command,
    CommandCall,
    CommandResult,
    Endless,
)
from agentworld_sim.engines.shell._deep import call_deep
from agentworld_sim.engines.shell._epilogue import (
    NOTES,
    Notes,
    Redirect,
    descriptors,
    epilogue,
    merged,
    read_notes,
    redirects_in,
)
from agentworld_sim.engines.shell._execution import Executed, Execution, SideWatch
from agentworld_sim.engines.shell._files import LiveFiles, quoted
from agentworld_sim.engines.shell._guise import (
    HELPER,
    Guise,
    files_with_times,
    guise,
    hints_at_guise,
    numbered,
    unmasked,
)
from agentworld_sim.engines.shell._limit_texts import (
    FORK_BOMB,
    OVERFLOW,
    faithful,
    unfaithful,
    verdict_on,
)
from agentworld_sim.engines.shell._limits import ShellLimits
from agentworld_sim.engines.shell._live_command import LiveCallback, live_command
from agentworld_sim.engines.shell._machine import Machine
from agentworld_sim.engines.shell._memory import memory_of, snapshot_of
from agentworld_sim.engines.shell._precheck import checked
from agentworld_sim.engines.shell._session import ShellSession
from agentworld_sim.engines.shell._simple import is_simple
from agentworld_sim.engines.shell._umask import USUAL, Umask
from agentworld_sim.engines.shell._volatile import VolatileFiles
from agentworld_sim.engines.shell.commands import IN_ORDER
from agentworld_sim.errors import EngineFailure
from agentworld_sim.state._files import Blobs, FileEntry, FileTree

R = TypeVar("R")

Keep = Literal["nothing", "cwd", "all"]
"""What a tool's shell keeps between calls."""

Ending = Literal["finished", "timeout", "cancelled"]

STDIN_MOUNT = "/proc/self/fd"
"""Where a turn's standard input lies, under its real name."""

STDOUT, STDERR = 250, 251
"""Descriptors that keep a script's own standard output and standard error."""

_FD = STDIN_MOUNT.removeprefix("/proc")

MOST_NESTED = 32
"""Commands that run each other through ours (`timeout`, `env`), before the machine has enough."""

_UNBOUNDED = 2**62

FRESH = ShellSession()

_CHANGES_NOTHING = frozenset(
    [
        "[",
        "basename",
        "cat",
        "cmp",
        "cut",
        "date",
        "df",
        "diff",
        "dirname",
        "du",
        "echo",
        "egrep",
        "expr",
        "false",
        "fgrep",
        "file",
        "fold",
        "free",
        "grep",
        "groups",
        "head",
        "hostname",
        "id",
        "jq",
        "ls",
        "md5sum",
        "nl",
        "nproc",
        "od",
        "paste",
        "printenv",
        "ps",
        "pwd",
        "realpath",
        "rev",
        "seq",
        "sha1sum",
        "sha256sum",
        "stat",
        "tac",
        "tail",
        "test",
        "tr",
        "true",
        "uname",
        "uptime",
        "wc",
        "which",
        "whoami",
    ]
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
    written: tuple[tuple[str, str], ...] = ()
    """Standard output and standard error piece by piece, in the order of writing."""
    moments: tuple[int, ...] = ()
    """When each piece was written, on the world's clock."""


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
        self._volatile = VolatileFiles(machine)
        self._stdin = self._volatile.proc
        self._mounts = {**(mounts or {}), **self._volatile.mounts}
        self.files = LiveFiles(_weakly(self._run_touch), self._mounts)
        self._janitor: Bash | None = None
        self._natives: dict[str, Bash] = {}
        self._callbacks: dict[str, Callable[[BuiltinContext], BuiltinResult]] = {
            folder + name: _weakly(self._call, name, command)
            for name, command in commands.items()
            # A machine with programs reaches our commands through them.
            for folder in (("",) if "/usr/bin" in self._mounts else ("", "/bin/", "/usr/bin/"))
        }
        in_order = {
            name: _weakly(self._answer, name, commands[name.rpartition("/")[2]])
            for name in self._callbacks
            if name.rpartition("/")[2] in IN_ORDER
        }
        others = {name: c for name, c in self._callbacks.items() if name not in in_order}
        self._bash = self._new_bash(others, in_order)
        # What `exec` redirects outlives a restored snapshot; the prelude puts these two back.
        self._bash.execute_sync(f"exec {STDOUT}>&1 {STDERR}>&2")
        self._fresh = self._bash.snapshot(exclude_filesystem=True)
        self._snapshots: dict[bytes, bytes] = {}
        self._pristine: bool | None = None
        self._random = Random(0)
        self._failure: BaseException | None = None
        self._look = False
        self._suspicious = False
        self._open: set[str] = set()
        self._running: Execution | None = None
        self._sides: list[tuple[Bash, SideWatch]] = []
        self._stopping = False
        self._opaque = False
        self._guise = Guise("")
        self._deadlines: list[int | None] = []
        self._overdue = False
        self._depth = 0

    # The turn

    def materialise(self, tree: FileTree, blobs: Blobs) -> None:
        """Fills the machine's files. Once, before the first turn."""
        self.files.materialise(tree, blobs)

    def _kept_umask(self, session: ShellSession) -> int:
        if session.memory is None or b"_UMASK" not in session.memory:
            return USUAL
        return int(self._bash.shell_state().variables.get("_UMASK", "022"), 8)

    def start_turn(self, clock_us: int, seed: int) -> None:
        """Sets the world's clock (µs since the epoch) and random source for the coming turn."""
        self.files.clock = TurnClock(clock_us)
        self.files.mask = Umask()
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
        self._stopping = True
        self._bash.cancel()
        for bash in list(self._natives.values()):
            bash.cancel()

    def close(self) -> None:
        """Frees the interpreters. Nothing may be running, and nothing can be run any more.

        Without it they live for ever: an interpreter holds its callbacks, which hold this object,
        and Python's collector does not see into the interpreter.
        """
        self._callbacks.clear()
        self._natives.clear()
        self._janitor = None
        self._running = None
        del self._bash

    def _seconds_left(self) -> float:
        if self._stopping or self._running is None:
            return 0.0
        left = [watch.seconds_left() for _, watch in self._sides]
        return min([self._running.seconds_left(), *left])

    def _clear_cancel(self) -> None:
        self._stopping = False
        self._bash.clear_cancel()
        for bash in self._natives.values():
            bash.clear_cancel()

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
        if keep == "nothing" and not stdin and session == FRESH and is_simple(script):
            quick = self._run_simple(script, merge=merge)
            if quick is not None:
                return quick
        bash = self._bash
        self._pristine = None
        bash.restore_snapshot(self._snapshot(session.memory))
        self.files.mask = Umask(self._kept_umask(session))
        self._failure = None
        began_us = self.files.clock.now_us()
        runnable, refusal = self._parse(script)
        worn = self._dress(runnable, session)
        redirects = redirects_in(runnable) if keep == "all" else []
        if session.redirects or "exec" in runnable:
            self._look = self._suspicious = True
        ends = keep == "all" and self._can_follow(runnable, epilogue(redirects))
        full = self._prelude(session, stdin, merge=merge) + worn.prelude
        # `exec <` reads text only. Other bytes are handed to the whole script as to a block.
        raw = stdin is not None and not _is_text(stdin)
        full += f"{{ {checked(worn.script)}\n}} < {STDIN_MOUNT}/0" if raw else checked(worn.script)
        if ends:
            full += epilogue(redirects)
        self._forget_notes()
        done, pieces = self._execute(full, script, timeout_us)
        if self._failure is not None:
            raise self._failure
        stdout, stderr, exit_code = done.stdout, done.stderr, done.exit_code
        ending: Ending = "finished" if done.verdict in (None, "dead") else done.verdict
        notes = self._read_notes(redirects) if ends else None
        if notes is not None and done.verdict is None:
            exit_code = notes.exit_code
        if refusal is not None and ending == "finished" and not _texts.exited(runnable):
            stdout, stderr = (stdout + refusal, stderr) if merge else (stdout, stderr + refusal)
            exit_code = _texts.SYNTAX_ERROR
        slept_us = self.files.clock.now_us() - began_us
        stdout = self._plain(stdout, script, slept_us, merge=merge)
        stderr = self._plain(stderr, script, slept_us)
        for name in files_with_times(script):
            self._unmask_file(name, script, slept_us)
        pieces = tuple(
            (unmasked(out, script, slept_us), unmasked(err, script, slept_us))
            for out, err in pieces
        )
        if session.exit_code and "x" in session.options:
            stderr = stderr.removeprefix(f"+ exit {session.exit_code}\n")
        after = ShellSession()
        if keep == "cwd":
            after = ShellSession(cwd=self._bash.shell_state().cwd)
        elif keep == "all" and (notes is not None or done.verdict == "timeout" or not ends):
            after = self._after(session, exit_code, notes)
        moments = () if self._running is None else tuple(self._running.moments)
        self._running = None
        return ShellRun(stdout, stderr, exit_code, after, ending, pieces, moments)

    def _run_simple(self, script: str, *, merge: bool) -> ShellRun | None:
        """Runs a simple script in a fresh shell, here and now; `None` when it is not that simple."""
        bash = self._bash
        if self._pristine is not merge:
            bash.restore_snapshot(self._fresh)
            bash.execute_sync(self._prelude(FRESH, None, merge=merge))
        self._pristine = None
        self._failure = None
        self._running = None
        self._opaque = False
        result = bash.execute_sync(script)
        if self._failure is not None or result.error is not None or result.stdout_truncated:
            self._failure = None
            self._clear_cancel()
            return None
        if result.stdout and result.stderr:
            # Which was written first is seen on the long way only.
            return None
        stderr = self._plain(result.stderr, script, 0)
        stdout = self._plain(result.stdout, script, 0, merge=merge) if merge else result.stdout
        self._pristine = merge
        if len(stdout) + len(stderr) > self.limits.output_bytes:
            return None
        pieces = ((stdout, stderr),) if stdout or stderr else ()
        moments = tuple(self.files.clock.now_us() for _ in pieces)
        return ShellRun(stdout, stderr, result.exit_code, FRESH, "finished", pieces, moments)

    def _after(self, before: ShellSession, exit_code: int, notes: Notes | None) -> ShellSession:
        """The session that goes on after a script; without notes, some of it is as before."""
        state = self._bash.shell_state()
        if self._guise.cleanup:
            self._bash.execute_sync(f"trap - EXIT; {self._guise.cleanup}")
        traps = {
            name: command
            for name, command in state.traps.items()
            if name != "EXIT" and command != HELPER
        }
        started_us = before.started_us
        now_us = self.files.clock.now_us()
        if notes is not None:
            if notes.exit_trap:
                traps["EXIT"] = notes.exit_trap
            if started_us is None or abs((now_us - started_us) // 1_000_000 - notes.seconds) > 1:
                started_us = now_us - notes.seconds * 1_000_000
        return ShellSession(
            cwd=state.cwd,
            memory=self._remember(self._bash.snapshot(exclude_filesystem=True)),
            options=tuple(sorted(_options(state.variables))),
            traps=tuple(sorted(traps.items())),
            exit_code=exit_code,
            positional=before.positional if notes is None else notes.positional,
            redirects=merged(before.redirects, () if notes is None else notes.redirects),
            started_us=started_us,
        )

    def _remember(self, snapshot: bytes) -> bytes:
        memory = memory_of(snapshot)
        self._snapshots = {memory: snapshot}
        return memory

    def _snapshot(self, memory: bytes | None) -> bytes:
        """What restores `memory`; kept for the shell that was used last."""
        if memory is None:
            return self._fresh
        if memory not in self._snapshots:
            self._snapshots = {memory: snapshot_of(memory, self._bash, self._fresh)}
        return self._snapshots[memory]

    def _can_follow(self, script: str, more: str) -> bool:
        """Whether `more` runs after `script`: an unfinished here-document would swallow it."""
        return "<<" not in script or "builtin" in self._bash.analyze(script + more).command_names

    def _forget_notes(self) -> None:
        with suppress(RuntimeError):
            self._volatile.dev.remove(NOTES.removeprefix("/dev"))

    def _read_notes(self, redirects: list[Redirect]) -> Notes | None:
        """What the epilogue wrote; `None` when the script left the shell before it."""
        try:
            data = self._volatile.dev.read_file(NOTES.removeprefix("/dev"))
        except RuntimeError:
            return None
        self._forget_notes()
        notes = read_notes(data, redirects)
        self._open |= descriptors(notes.redirects)
        return notes

    def _plain(self, text: str, script: str, slept_us: int, *, merge: bool = True) -> str:
        text = faithful(text, script=script) if merge else text
        text = _texts.plain(text, script=script, cwd=lambda: self._bash.shell_state().cwd)
        return numbered(unmasked(text, script, slept_us), script)

    def _unmask_file(self, name: str, script: str, slept_us: int) -> None:
        path = name if name.startswith("/") else f"{self._bash.shell_state().cwd}/{name}"
        with suppress(OSError, UnicodeDecodeError):
            before = self.files.read(path).decode()
            after = unmasked(before, script, slept_us)
            if after != before:
                self.files.write(path, after.encode())

    def _dress(self, script: str, session: ShellSession) -> Guise:
        """What keeps `script` from seeing the embedded shell, and its devices made ready."""
        self._volatile.forget()
        now_us = self.files.clock.now_us()
        chance = self._volatile.prepare(script, now_us, self._random, opaque=self._opaque)
        taken: set[str] = set()
        if session.memory is not None and hints_at_guise(script):
            found = self._bash.execute_sync("trap - EXIT; declare -F").stdout
            taken = {line.rpartition(" ")[2] for line in found.splitlines()}
        self._guise = guise(script, taken, chance=chance)
        return self._guise

    def _execute(
        self, full: str, script: str, timeout_us: int | None
    ) -> tuple[Executed, tuple[tuple[str, str], ...]]:
        """Runs `full`, which holds `script`; also what it wrote, piece by piece."""
        clock = self.files.clock
        running = self._running = Execution(
            self._bash, self.limits, self.cancel, lambda: self.files.clock.now_us()
        )
        deadline_us = None if timeout_us is None else clock.now_us() + timeout_us
        clock.deadline_us = deadline_us
        try:
            done = running.run(full, named=script)
        except EngineFailure:
            if self._failure is None:
                raise
            done = Executed("", "", 1)
        finally:
            clock.deadline_us = None
            if running.stopped:
                self._clear_cancel()
        if isinstance(self._failure, (DeadlinePassed, Endless)):
            stopped = self._stopping and isinstance(self._failure, Endless)
            self._failure = None
            self._clear_cancel()
            done = Executed(*running.written(), 124, running.cause(cancelled=stopped))
        if done.verdict == "timeout" and deadline_us is not None:
            clock.sleep(deadline_us - clock.now_us())
        pieces = tuple((_texts.plain(out), _texts.plain(err)) for out, err in running.pieces())
        return done, pieces

    def _parse(self, script: str) -> tuple[str, str | None]:
        """The part of `script` that parses, and what bash says of the first line that does not."""
        try:
            analysis = self._bash.analyze(script)
        except BashError as error:
            self._look = self._suspicious = self._opaque = True
            return _texts.split_at_syntax_error(script, str(error), self._bash.analyze)
        unclosed = _texts.unclosed_brace(script)
        if unclosed is not None:
            return unclosed
        self._judge(analysis, script)
        return script, None

    def _judge(self, analysis: ScriptAnalysis, script: str) -> None:
        """Decides whether the files must be looked at after this script, and how closely."""
        opaque = analysis.is_opaque or analysis.has_interpreter_reentry or bool(analysis.functions)
        names = set(analysis.command_names)
        self._opaque = opaque or any("/" in name or name in _RUNS_OTHERS for name in names)
        writes = any(redirect.is_write for redirect in analysis.redirects)
        if opaque or writes or not names <= _CHANGES_NOTHING:
            self._look = True
        if opaque or names & _RUNS_OTHERS or _KEEPS_TIMES.search(script):
            self._suspicious = True

    def _prelude(self, session: ShellSession, stdin: bytes | None, *, merge: bool = False) -> str:
        """Sets what bashkit forgets, on the script's first line so that line numbers stay right."""
        now_us = self.files.clock.now_us()
        seconds, micro = divmod(now_us, 1_000_000)
        parts = [
            f"RANDOM={self._random.randrange(32768)}",
            f"EPOCHSECONDS={seconds} EPOCHREALTIME={seconds}.{micro:06d}",
        ]
        parts.append(f"exec >&{STDOUT} 2>&{STDOUT if merge else STDERR}")
        kept = descriptors(session.redirects)
        parts += [f"exec {number}>&-" for number in sorted(self._open - kept, key=int)]
        self._open = kept
        started_us = now_us if session.started_us is None else session.started_us
        parts.append(f"SECONDS={(now_us - started_us) // 1_000_000}; hash -r; complete -r")
        parts.append(f"set -- {' '.join(map(quoted, session.positional))}")
        self._stdin.write_file(f"{_FD}/0", stdin or b"")
        if stdin and _is_text(stdin):
            parts.append(f"exec < {STDIN_MOUNT}/0")
        cwd = session.cwd or self.machine.workdir
        if session.memory is None and cwd != "/":
            parts.append(f"cd {quoted(cwd)} 2>/dev/null")
            parts.append("unset OLDPWD")
        parts += [f"exec {redirect}" for redirect in session.redirects]
        traps = {name: f"trap -- {quoted(command)} {name}" for name, command in session.traps}
        every = traps.pop("DEBUG", None)
        parts += traps.values()
        names = [name for name in session.options if len(name) == 1]
        parts += [f"set -o {name}" for name in session.options if len(name) > 1]
        parts.append(": bash")
        if names:
            parts.append(f"set -{''.join(names)}")
        if session.exit_code:
            # As a part of a list it is no failure to the ERR trap and to `set -e`.
            parts.append(f"(exit {session.exit_code}) && :")
        if every:
            parts.append(every)
        return "; ".join(parts) + "; "

    def _new_bash(
        self,
        callbacks: Mapping[str, Callable[[BuiltinContext], BuiltinResult]],
        in_order: Mapping[str, LiveCallback] | None = None,
    ) -> Bash:
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
        for name, callback in (in_order or {}).items():
            bash.add_command(name, live_command(callback))
        bash.mount("/", self.files.fs)
        for point, fs in self._mounts.items():
            # Everybody may write to `/dev/null`.
            bash.mount(point, fs, read_only=point != "/dev")
        bash.execute_sync(f"declare +x UID EUID; BASH_VERSINFO[5]={machine.arch}-pc-linux-gnu")
        return bash

    # Commands

    def _call(self, name: str, command: Command, context: BuiltinContext) -> BuiltinResult:
        result = self._answer(name, command, context)
        return BuiltinResult(result.stdout, result.stderr, result.exit_code)

    def _answer(self, name: str, command: Command, context: BuiltinContext) -> CommandResult:
        if name == HELPER and not context.argv:
            self._volatile.draw(self._random)
            return CommandResult()
        self.files.passing = context.fs
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
            seconds_left=self._seconds_left,
        )
        try:
            return command(call)
        except RecursionError:
            self._failure = unfaithful("arguments nested too deeply", f"{name} …")
            self._bash.cancel()
            return CommandResult("", "", 1)
        except BaseException as failure:  # noqa: BLE001 -- raised again when the script has ended
            if self._deadlines and isinstance(failure, (DeadlinePassed, Endless)):
                self._overdue = True
                for bash in list(self._natives.values()):
                    bash.cancel()
                return CommandResult("", "", 143)
            # bashkit would print the exception into the session and go on.
            self._failure = failure
            self._bash.cancel()
            return CommandResult("", "", 1)

    def _native(
        self,
        name: str,
        context: BuiltinContext,
        argv: Sequence[str] | None = None,
        stdin: str | None = None,
        *,
        program: str | None = None,
        limit_us: int | None = None,
    ) -> CommandResult:
        """bashkit's own `name`, in an interpreter beside the running one, on the same files."""
        bare = name.rpartition("/")[2]
        words = [program or bare, *(context.argv if argv is None else argv)]
        text = context.stdin if stdin is None else stdin
        script = f"cd {quoted(context.cwd)} && {self._exports(context.env)}"
        script += " ".join(map(quoted, words))
        if program is not None or bare in _RUNS_OTHERS:
            script = f"RANDOM={self._random.randrange(32768)}; {script}"
        # A program may run the command that runs it; it needs an interpreter of its own each time.
        side = bare if program is None else f"{bare}#{self._depth}"
        if text is not None:
            self._stdin.write_file(f"{_FD}/{side}", text.encode("utf-8", "surrogateescape"))
            script += f" < {STDIN_MOUNT}/{quoted(side)}"
        # Whatever bashkit does inside a bashkit callback must come from another thread.
        pieces: list[tuple[str, str]] = []
        if self._depth > MOST_NESTED:
            return CommandResult("", FORK_BOMB.said, FORK_BOMB.exit_code)
        deadline_us = self._own_deadline(limit_us)
        bash = self._natives.get(side) or call_deep(lambda: self._native_bash(side))
        watch = SideWatch(limit_us, partial(self._stop_sides, self._depth))
        self._sides.append((bash, watch))
        self._depth += 1
        try:
            result = call_deep(
                lambda: bash.execute_sync(script, lambda out, err: pieces.append((out, err))),
                watch=watch,
            )
        finally:
            self._depth -= 1
            self._sides.pop()
            if watch.stopped and not self._stopping:
                for each in self._natives.values():
                    each.clear_cancel()
            if text is not None:
                self._stdin.remove(f"{_FD}/{side}")
        if self._failure is not None:
            raise self._failure
        if watch.deep:
            result, pieces = None, [*pieces, ("", OVERFLOW.said)]
        self._overdue |= watch.late and deadline_us is not None
        stdout, stderr = ("", "") if result is None else (result.stdout, result.stderr)
        late = deadline_us is not None and self._is_over(deadline_us, result)
        if late or result is None:
            # A cancelled run forgets its output; the sink has seen it.
            stdout = "".join(out for out, _ in pieces)
            stderr = "".join(err for _, err in pieces)
        elif result.error is not None and "timeout" not in result.error:
            verdict_on(result.error, script)
        return CommandResult(
            _texts.plain(stdout),
            _texts.plain(faithful(stderr, script=script)),
            OVERFLOW.exit_code if result is None else result.exit_code,
            timed_out=late,
        )

    def _stop_sides(self, depth: int) -> None:
        """Cancels the side interpreters from `depth` on."""
        for bash, _ in self._sides[depth:]:
            bash.cancel()

    def _own_deadline(self, limit_us: int | None) -> int | None:
        """Sets the clock's deadline for a command with a time limit, unless one comes earlier."""
        clock = self.files.clock
        if limit_us is None:
            return None
        mine = clock.now_us() + limit_us
        if clock.deadline_us is not None and clock.deadline_us <= mine:
            return None
        self._deadlines.append(clock.deadline_us)
        clock.deadline_us = mine
        return mine

    def _is_over(self, deadline_us: int, result: ExecResult | None) -> bool:
        """Takes the deadline away; whether it had passed."""
        clock = self.files.clock
        clock.deadline_us = self._deadlines.pop()
        late = self._overdue or "timeout" in ((result and result.error) or "")
        self._overdue = False
        if late:
            clock.sleep(deadline_us - clock.now_us())
            for bash in self._natives.values():
                bash.clear_cancel()
        return late

    def _exports(self, env: Mapping[str, str]) -> str:
        """Assignments that give a side interpreter's command the environment of the running one."""
        usual = {**_environment(self.machine), "PWD": env.get("PWD", "")}
        return "".join(
            f"{name}={quoted(value)} "
            for name, value in env.items()
            if usual.get(name) != value and name.isidentifier()
        )

    def embedded(self, name: str, argv: Sequence[str]) -> ExecResult:
        """bashkit's own command `name` on this world's files, beside the shell.

        For tools that bring a program of their own, for example a bundled `rg`.
        """
        return self._native_bash(name).execute_sync(" ".join(map(quoted, (name, *argv))))

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
        result = call_deep(lambda: self._janitor_bash().execute_sync(script))
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


def _weakly(method: Callable[..., R], *arguments: object) -> Callable[..., R]:
    """`method` with its first arguments, holding its object weakly.

    An interpreter holds its callbacks, and Python's collector does not see into it: held strongly, no
    machine would ever be freed.
    """
    reference = WeakMethod(method)

    def call(*more: object) -> R:
        found = reference()
        if found is None:
            raise EngineFailure("the machine is gone while something runs on it")
        return found(*arguments, *more)

    return call


_RUNS_OTHERS = frozenset({"bash", "sh", "make", "xargs", "find", "env", "timeout", "sudo", "nohup"})


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _options(variables: Mapping[str, str]) -> list[str]:
    """What `set -o` has on: bashkit shows each as a variable until the next call begins."""
    return [
        name.removeprefix("SHOPT_")
        for name, value in variables.items()
        if value == "1" and name.startswith("SHOPT_") and name.removeprefix("SHOPT_") in _SET_NAMES
    ]


_SET_NAMES = frozenset(
    [
        "a",
        "b",
        "e",
        "f",
        "h",
        "k",
        "m",
        "n",
        "p",
        "t",
        "u",
        "v",
        "x",
        "B",
        "C",
        "E",
        "H",
        "P",
        "T",
        "pipefail",
        "posix",
        "vi",
        "emacs",
    ]
)


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
