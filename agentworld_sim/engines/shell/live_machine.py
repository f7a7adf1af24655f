"""One live machine: its files, its interpreters, and our commands inside them.

Everything here is blocking and belongs to one world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import fsdecode
from random import Random
from typing import Any, TypeVar
from weakref import ref

from bashkit import (
    Bash,
    BuiltinContext,
    BuiltinResult,
    CommandContext,
    ExecResult,
    ExecutionProfile,
    FileSystem,
)

from agentworld_sim.engines.shell import bash_texts
from agentworld_sim.engines.shell._command import (
    HELPER,
    IMAGINE,
    Command,
    CommandCall,
    CommandResult,
    Endless,
    NotComputed,
    Streams,
)
from agentworld_sim.engines.shell.bash_shims import Shims
from agentworld_sim.engines.shell.bash_texts import (
    FORK_BOMB,
    OVERFLOW,
    faithful,
    unfaithful,
    verdict_on,
)
from agentworld_sim.engines.shell.commands import IN_ORDER, names_in_path, programs, readers
from agentworld_sim.engines.shell.file_times import USUAL, DeadlinePassed, TurnClock, Umask
from agentworld_sim.engines.shell.image import VolatileFiles, package_mounts, system_mounts
from agentworld_sim.engines.shell.live_commands import (
    CountedCommand,
    LiveCommand,
    LiveStreams,
    ProgramCount,
    live_command,
    live_program,
)
from agentworld_sim.engines.shell.live_files import LiveFiles, quote_word
from agentworld_sim.engines.shell.machine import Machine, ShellLimits, environment
from agentworld_sim.engines.shell.network_door import NetworkDoor
from agentworld_sim.engines.shell.script_analysis import RUNS_OTHERS
from agentworld_sim.engines.shell.script_execution import GRACE_S, Execution, Watch
from agentworld_sim.engines.shell.session import Commit, ShellSession, capture
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.engines.shell.unknown_commands import UnknownCommands
from agentworld_sim.errors import EngineFailure
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.files import Blobs, FileEntry, FileTree

Context = BuiltinContext | CommandContext
"""Of a command that is called with its input, and of one that writes as it goes."""


R = TypeVar("R")

MOST_COMMITS = 32
"""Fresh shells that are kept; without unknown commands there is one for each kind of machine."""

_fresh_commits: dict[tuple[Machine, ShellLimits, frozenset[str]], Commit] = {}
"""A commit fits interpreters with the same commands."""

STDIN_MOUNT = "/proc/self/fd"
"""Where a turn's standard input lies, under its real name."""

STDOUT, STDERR = 250, 251
"""Descriptors that keep a script's own standard output and standard error."""

FD = STDIN_MOUNT.removeprefix("/proc")
"""The same below the mount."""

MOST_NESTED = 32
"""Commands that run each other through ours (`timeout`, `env`), before the machine has enough."""


class LiveMachine:
    """Files, clock, random source and interpreters of one world."""

    def __init__(
        self,
        machine: Machine,
        commands: Mapping[str, Command],
        *,
        limits: ShellLimits | None = None,
        unknown: UnknownCommands | None = None,
    ) -> None:
        """`unknown` answers commands that the shell does not have; without it they are not found."""
        self.machine, self._commands = machine, commands
        self.limits = limits or ShellLimits()
        self._volatile = VolatileFiles(machine)
        self._stdin = self._volatile.proc
        imagined = frozenset[str]() if unknown is None else unknown.names.programs
        shared = system_mounts(names_in_path(machine), imagined)
        self._mounts = {**shared, **package_mounts(machine), **self._volatile.mounts}
        # One for all callbacks: there are hundreds, and each machine makes its own.
        self._self = ref(self)
        self.files = LiveFiles(self._mounts)
        self._natives: dict[str, Bash] = {}
        self._programs = ProgramCount()
        self._own_callbacks: dict[str, Callable[[BuiltinContext], BuiltinResult]] = {
            name: self._weakly(type(self)._call, name, command)
            for name, command in commands.items()
        }
        self.unknown = unknown
        """Those of the world that it works for."""
        self.network: NetworkDoor | None = None
        self._script = ""
        self._learned: frozenset[str] = frozenset()
        """The words that the interpreter knows beside its own."""
        self._moved = False
        self._read_only: dict[str, FileSystem | None] = {}
        """What lies below directories that are mounted read-only; of `/` it is all."""
        self._chained = False
        """Whether programs get their input whole, as text."""
        self._side_by_side = False
        """Whether no command writes as it goes, since the script has jobs in the background."""
        self.has_jobs = False
        """Whether it has, whatever its text says."""
        self._renew()
        self._seed = 0
        self._random: Random | None = None
        self._failure: BaseException | None = None
        self._look = False
        self._suspicious = False
        self._running: Execution | None = None
        self._sides: list[tuple[Bash | None, Watch]] = []
        self._stopping = False
        self._opaque = False
        self._shims = Shims("")
        self._deadlines: list[int | None] = []
        self._overdue = False
        self._depth = 0
        self._in_turn = False
        self._reusable = True

    def _weakly(self, method: Callable[..., R], *arguments: object) -> Callable[..., R]:
        """`method` of this machine with its first arguments, holding the machine weakly.

        An interpreter holds its callbacks, and Python's collector does not see into it: held strongly,
        no machine would ever be freed.
        """
        machine = self._self

        # A plain function: of anything else the interpreter finds out at length what it is.
        def call(*more: object) -> R:
            found = machine()
            if found is None:
                raise EngineFailure("the machine is gone while something runs on it")
            return method(found, *arguments, *more)

        return call

    def _renew(self) -> None:
        """A new interpreter on the same files, that knows the commands there are now."""
        handed: set[str] = set()
        if self.unknown is not None:
            handed = {*self.unknown.names.overridden, *self.unknown.words}
            self._learned = frozenset(self.unknown.words)
        self._callbacks = {
            **self._own_callbacks,
            **{name: self._weakly(type(self)._call_unknown, name) for name in sorted(handed)},
        }
        own = frozenset[str]() if self._side_by_side else self._commands.keys() - handed
        live = {
            name: live_command(self._weakly(type(self)._answer, name, self._commands[name]))
            for name in IN_ORDER & own
        }
        if not self._chained:
            for name in readers() & own:
                answer = self._weakly(type(self)._answer, name, self._commands[name])
                live[name] = live_program(answer, self._programs)
        self._natives.clear()
        self._calls: list[Any] = []
        counted = {name: CountedCommand(command, self._calls) for name, command in live.items()}
        self._bash = self._new_bash(self._callbacks, counted)
        kind = (self.machine, self.limits, frozenset(self._callbacks))
        if kind not in _fresh_commits:
            if len(_fresh_commits) >= MOST_COMMITS:
                _fresh_commits.clear()
            _fresh_commits[kind] = capture(self._bash)
        self._fresh = _fresh_commits[kind]
        self._commits: dict[bytes, Commit] = {}
        self._pristine: bool | None = None
        self._used = False
        """Whether a script has run in it."""
        self._open: set[str] = set()

    # The turn

    def materialise(self, tree: FileTree, blobs: Blobs) -> None:
        """Makes the machine's files those of `tree`. Between two turns."""
        self._moved = True
        self.files.materialise(tree, blobs)

    def retire(self, unknown: UnknownCommands | None) -> bool:
        """Makes the machine ready for another world, whose unknown commands `unknown` answers.

        False where something may be left of this one that no later turn looks at: a process, a file in
        `/dev`, a script that was stopped in the middle.
        """
        if self._in_turn or not self._reusable or self._volatile.has_foreign_files():
            return False
        self._natives.clear()
        self._commits.clear()
        self._script, self._running, self.unknown, self.files.passing = "", None, unknown, None
        return True

    def _umask_of(self, session: ShellSession) -> int:
        if session.memory is None or b"_UMASK" not in session.memory:
            return USUAL
        return int(self._bash.shell_state().variables.get("_UMASK", "022"), 8)

    def obey(self, conditions: Conditions) -> None:
        """Makes the disk what the conditions of the coming turn say it is."""
        self.files.conditions = conditions
        roots = conditions.read_only
        if self._moved or roots != tuple(self._read_only):
            self._moved = False
            if roots or self._read_only:
                self._read_only = {root: self.files.copy_below(root) for root in roots}
                self._renew()
        self.files.filler.leave_free(conditions.free_bytes)

    def start_turn(self, clock_us: int, seed: int) -> None:
        """Sets the world's clock (µs since the epoch) and random source for the coming turn."""
        self.files.clock = TurnClock(clock_us)
        self.files.mask = Umask()
        self.files.has_writes = False
        self._seed, self._random = seed, None
        self._look = self._suspicious = False
        self._in_turn = True

    @property
    def random(self) -> Random:
        """The turn's random source, made when something is drawn: most scripts draw nothing."""
        if self._random is None:
            self._random = Random(self._seed)
        return self._random

    def collect(self, blobs: Blobs) -> dict[str, FileEntry | None]:
        """The turn's changes to files; `{}` for none."""
        self._in_turn = False
        if not (self._look or self.files.has_writes):
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
        self._callbacks = {}
        self._own_callbacks = {}
        self._natives.clear()
        self._running = None
        # What a callback was given of an interpreter keeps its threads and descriptors.
        self.files.passing = None
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

    # Commands

    def _new_bash(
        self,
        callbacks: Mapping[str, Callable[[BuiltinContext], BuiltinResult]],
        live: Mapping[str, LiveCommand] = {},
    ) -> Bash:
        machine = self.machine
        bash = Bash(
            username=machine.user,
            hostname=machine.hostname,
            cwd=machine.workdir,
            env=environment(machine),
            max_commands=self.limits.commands,
            max_loop_iterations=self.limits.loop_iterations,
            max_memory=self.limits.memory_bytes,
            timeout_seconds=self.limits.wall_seconds,
            custom_builtins={name: c for name, c in callbacks.items() if name not in live},
            profile=ExecutionProfile.Interactive,
        )
        for name, command in live.items():
            bash.add_command(name, command)
        bash.mount("/", self.files.fs, read_only="/" in self._read_only)
        for root, fs in self._read_only.items():
            if fs is not None:
                bash.mount(root, fs, read_only=True)
        for point, fs in self._mounts.items():
            # Everybody may write to `/dev/null`.
            bash.mount(point, fs, read_only=point != "/dev")
        # What `exec` redirects outlives a restored commit; the prelude puts these two back.
        bash.execute_sync(
            f"declare +x UID EUID; BASH_VERSINFO[5]={machine.arch}-pc-linux-gnu;"
            f" exec {STDOUT}>&1 {STDERR}>&2"
        )
        return bash

    def _call(self, name: str, command: Command, context: BuiltinContext) -> BuiltinResult:
        result = self._answer(name, command, context)
        try:
            return BuiltinResult(result.stdout, result.stderr, result.exit_code)
        except UnicodeEncodeError:
            # Only a live command can write any bytes.
            self._failure = self._failure or unfaithful("output that is no text here", f"{name} …")
            self._bash.cancel()
            return BuiltinResult("", "", 1)

    def _call_unknown(self, name: str, context: BuiltinContext) -> BuiltinResult:
        return self._call(name, self._ask, context)

    def _ask(self, call: CommandCall) -> CommandResult:
        """A command that the shell does not have."""
        assert self.unknown is not None
        self._look = True
        return self.unknown.answer(
            call, self.files, script=self._script, suspicious=self._suspicious
        )

    def _compute(self, name: str, command: Command, call: CommandCall) -> CommandResult:
        """Lets a command answer, or whoever imagines commands where it cannot."""
        try:
            return command(call)
        except NotComputed:
            bare = name.rpartition("/")[2]
            if self.unknown is None or self.unknown.names.routes.of(bare) == "compute":
                raise
            text = call.stdin if call.streams is None else fsdecode(call.read_stdin())
            return self._ask(replace(call, name=bare, stdin=text, streams=None))

    def _answer(
        self, name: str, command: Command, context: Context, streams: LiveStreams | None = None
    ) -> CommandResult:
        if name == HELPER and not context.argv:
            self._volatile.draw(self.random)
            return CommandResult()
        if name == HELPER and context.argv[0] == IMAGINE and self.unknown is not None:
            command = self._ask
        self.files.passing = context.fs
        call = self._call_of(name, context, streams)
        try:
            # Looking at a file takes 0.2 ms inside a callback, and 5 µs on another thread.
            result = call_deep(partial(self._compute, name, command, call))
            if name == HELPER and context.argv[0] == "compgen" and self.unknown is not None:
                lines = [x for x in result.stdout.splitlines() if x not in self._learned]
                listed = "".join(f"{line}\n" for line in lines)
                return CommandResult(listed, "", 0 if lines else 1)
            return result
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
            self._failure = self._failure or failure
            for bash in [self._bash, *self._natives.values()]:
                bash.cancel()
            return CommandResult("", "", 1)

    def _call_of(self, name: str, context: Context, streams: Streams | None) -> CommandCall:
        return CommandCall(
            name=context.name,
            argv=context.argv,
            stdin=context.stdin if isinstance(context, BuiltinContext) else None,
            # bashkit's order is another in each process.
            env=dict(sorted(context.env.items())),
            cwd=context.cwd,
            files=self.files,
            clock=self.files.clock,
            random=self.random,
            machine=self.machine,
            native=partial(self._native, name, context, streams),
            seconds_left=self._seconds_left,
            depth=self._depth,
            streams=streams,
            network=self.network,
        )

    def _native(
        self,
        name: str,
        context: Context,
        streams: Streams | None,
        argv: Sequence[str] | None = None,
        stdin: str | None = None,
        *,
        program: str | None = None,
        limit_us: int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """bashkit's own `name`, in an interpreter beside the running one, on the same files."""
        if program in programs() and program in self._callbacks:
            call = self._call_of(program, context, streams if stdin is None else None)
            changed: dict[str, Any] = {"argv": argv, "stdin": stdin, "cwd": cwd, "env": env}
            given = {name: value for name, value in changed.items() if value is not None}
            return self._start(replace(call, name=program, **given), limit_us)
        bare = name.rpartition("/")[2]
        words = [program or bare, *(context.argv if argv is None else argv)]
        text = stdin
        if text is None:
            call = self._call_of(name, context, streams)
            text = call.stdin if streams is None else fsdecode(call.read_stdin())
        script = f"cd {quote_word(context.cwd)} && {self._exports(context.env)}"
        script += " ".join(map(quote_word, words))
        if program is not None or bare in RUNS_OTHERS:
            script = f"RANDOM={self.random.randrange(32768)}; {script}"
        # A program may run the command that runs it; it needs an interpreter of its own each time.
        side = bare if program is None else f"{bare}#{self._depth}"
        if text is not None:
            self._stdin.write_file(f"{FD}/{side}", text.encode("utf-8", "surrogateescape"))
            script += f" < {STDIN_MOUNT}/{quote_word(side)}"
        # Whatever bashkit does inside a bashkit callback must come from another thread.
        pieces: list[tuple[str, str]] = []
        if self._depth > MOST_NESTED:
            return CommandResult("", FORK_BOMB.said, FORK_BOMB.exit_code)
        deadline_us = self._own_deadline(limit_us)
        bash = self._natives.get(side) or call_deep(lambda: self._native_bash(side))
        limit_s = math.inf if limit_us is None else limit_us / 1_000_000
        watch = Watch(limit_s, partial(self._stop_sides, self._depth))
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
                self._stdin.remove(f"{FD}/{side}")
        if self._failure is not None:
            raise self._failure
        # These two start a process for each command.
        deep = FORK_BOMB if bare in ("find", "xargs") else OVERFLOW
        if watch.deep:
            result, pieces = None, [*pieces, ("", deep.said)]
        self._overdue |= watch.late and deadline_us is not None
        stdout, stderr = ("", "") if result is None else (result.stdout, result.stderr)
        late = deadline_us is not None and self._is_over(deadline_us, result)
        if late or result is None:
            # A cancelled run forgets its output; the sink has seen it.
            stdout = "".join(out for out, _ in pieces)
            stderr = "".join(err for _, err in pieces)
        elif result.error is not None and "timeout" not in result.error:
            verdict_on(result.error, script)
        if self.unknown is not None:
            self.unknown.note(stderr)
        return CommandResult(
            bash_texts.plain(stdout),
            bash_texts.plain(faithful(stderr, script=script, said=self._said)),
            deep.exit_code if result is None else result.exit_code,
            timed_out=late,
        )

    def _start(self, call: CommandCall, limit_us: int | None) -> CommandResult:
        """Runs a program of the extra without any interpreter."""
        deadline_us = self._own_deadline(limit_us)
        watch = Watch(math.inf if limit_us is None else limit_us / 1_000_000, lambda: None)
        self._sides.append((None, watch))
        self._depth += 1
        try:
            result = self._compute(call.name, self._commands[call.name], call)
        except (DeadlinePassed, Endless):
            if deadline_us is None:
                raise
            self._overdue, result = True, CommandResult()
        finally:
            self._depth -= 1
            self._sides.pop()
        if deadline_us is None:
            return result
        self._overdue |= watch.seconds_left() <= GRACE_S
        return replace(result, timed_out=self._is_over(deadline_us, None))

    @property
    def _said(self) -> Container[str]:
        """Lines that imagined commands wrote: what they say is no report of the embedded shell."""
        return () if self.unknown is None else self.unknown.said

    def _stop_sides(self, depth: int) -> None:
        """Cancels the side interpreters from `depth` on."""
        for bash, _ in self._sides[depth:]:
            if bash is not None:
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
        usual = {**environment(self.machine), "PWD": env.get("PWD", "")}
        return "".join(
            f"{name}={quote_word(value)} "
            for name, value in env.items()
            if usual.get(name) != value and name.isidentifier()
        )

    def run_embedded(self, name: str, argv: Sequence[str], *, cwd: str) -> ExecResult:
        """bashkit's own command `name` on this world's files in the directory `cwd`, beside the shell.

        For tools that bring a program of their own, for example a bundled `rg`.
        """
        script = f"cd {quote_word(cwd)} && {' '.join(map(quote_word, (name, *argv)))}"
        return self._native_bash(name).execute_sync(script)

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
