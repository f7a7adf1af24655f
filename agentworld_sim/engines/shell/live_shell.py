"""One live shell: scripts run on a live machine, each from what its session keeps.

Everything here is blocking; `ShellEngine` runs it in a worker thread and throws it away when a turn fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from posixpath import join
from typing import Literal

from bashkit import BashError

from agentworld_sim.engines.shell import bash_texts
from agentworld_sim.engines.shell._command import HELPER, Endless
from agentworld_sim.engines.shell.bash_shims import Shims, make_ready, shims_for
from agentworld_sim.engines.shell.bash_texts import as_real_programs, faithful, files_with_times
from agentworld_sim.engines.shell.commands import (
    IN_ORDER,
    missing_on,
    plain_commands,
    prepare_programs,
    programs_of,
    readers,
)
from agentworld_sim.engines.shell.file_times import DeadlinePassed, Umask
from agentworld_sim.engines.shell.live_commands import close_lost
from agentworld_sim.engines.shell.live_files import quote_word
from agentworld_sim.engines.shell.live_machine import (
    FD,
    STDERR,
    STDIN_MOUNT,
    STDOUT,
    LiveMachine,
)
from agentworld_sim.engines.shell.machine import environment
from agentworld_sim.engines.shell.script_analysis import (
    JobsMet,
    chains,
    file_effects,
    is_simple,
    runs_side_by_side,
)
from agentworld_sim.engines.shell.script_execution import STUCK_S, Execution, ScriptResult
from agentworld_sim.engines.shell.session import (
    NOTES,
    Commit,
    Notes,
    Redirect,
    ShellSession,
    capture,
    commit_of,
    descriptors,
    epilogue,
    memory_of,
    read_notes,
    redirects_in,
    redirects_in_force,
)
from agentworld_sim.engines.shell.syntax_errors import (
    complaint_of_file,
    split_at_syntax_error,
    split_at_unclosed_brace,
)
from agentworld_sim.errors import EngineFailure
from agentworld_sim.regex import lazy_compile

Keep = Literal["nothing", "cwd", "all"]
"""What a tool's shell keeps between calls."""

Ending = Literal["finished", "timeout", "cancelled"]

FRESH = ShellSession()

_OF_FILE = lazy_compile(r"(?m)^bash: line \d+: ([^\n:]+): (parse error at [^\n]*)\n")
"""What the embedded shell says of a script file that is run by its name."""

_JOINS_OUTPUTS = lazy_compile(r"2>|&>|>&|\|&")
"""What can bring messages into standard output."""


_SHOWS_PROCESSES = lazy_compile(r"(?<![&|<>\\])&(?![&>])|BASHPID")
"""What can show the number of a process: a job in the background, or asking for it."""


_LEAVES_TRACES = lazy_compile(r"(?<![&|<>\\])&(?![&>])|\b(?:coproc|exec|ulimit|disown)\b")
"""What may outlive its shell in an interpreter."""


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


class LiveShell(LiveMachine):
    """The machine of one world, up and running.

    A turn is `start_turn`, any number of `run`s and file operations, then `collect`.
    """

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
        """Runs `script` as `bash -c` would, after what `session` kept; the rest is as in `ShellTurn.run`.

        Raises:
            BaseException: whatever a command of ours raised: it is a failure of the engine, not an
                answer.
        """
        plain = keep == "nothing" and not stdin and session == FRESH
        known = self.unknown is None or self.unknown.names.simple
        if plain and known and is_simple(script):
            quick = self._run_simple(script, merge=merge)
            if quick is not None:
                return quick
        self._script = script
        self._learn_names(script, session)
        self._choose_streams(script)
        if self._used and _SHOWS_PROCESSES.search(script):
            # An interpreter counts its processes from its first script on; a reopened world's is new.
            self._renew()
        self._used = True
        bash = self._bash
        self._pristine = None
        bash.checkout(*self._commit(session.memory))
        self.files.mask = Umask(self._umask_of(session))
        self._failure = None
        began_us = self.files.clock.now_us()
        runnable, refusal = self._parse(script)
        shims = self._prepare_shims(runnable, session)
        redirects = redirects_in(runnable) if keep == "all" else []
        if session.redirects or "exec" in runnable:
            self._look = self._suspicious = True
        ends = keep == "all" and self._can_follow(runnable, epilogue(redirects))
        full = self._prelude(session, stdin, merge=merge) + shims.prelude
        # `exec <` reads text only. Other bytes are handed to the whole script as to a block.
        raw = stdin is not None and not _is_text(stdin)
        full += (
            f"{{ {make_ready(shims.script)}\n}} < {STDIN_MOUNT}/0"
            if raw
            else make_ready(shims.script)
        )
        if ends:
            full += epilogue(redirects)
        self._forget_notes()
        done, pieces = self._execute(full, script, timeout_us)
        if done.verdict is not None or _LEAVES_TRACES.search(script):
            self._reusable = False
        if self._failure is not None:
            raise self._failure
        if self.unknown is not None:
            self.unknown.note(done.stdout)
            self.unknown.note(done.stderr)
            self.unknown.settle()
        stdout, stderr, exit_code = done.stdout, done.stderr, done.exit_code
        ending: Ending = "finished" if done.verdict in (None, "dead") else done.verdict
        notes = self._read_notes(redirects) if ends else None
        if notes is not None and done.verdict is None:
            exit_code = notes.exit_code
        # After an `exit` nothing is read.
        if refusal and ending == "finished" and not re.search(r"(?m)^\s*exit\b", runnable):
            stdout, stderr = (stdout + refusal, stderr) if merge else (stdout, stderr + refusal)
            exit_code = 2
        if exit_code == 1 and done.verdict is None:
            said = stdout if merge else stderr
            exit_code = bash_texts.exit_code_of(script, said, session.options)
        slept_us = self.files.clock.now_us() - began_us
        if merge or self._opaque or _JOINS_OUTPUTS.search(script):
            stdout = self._plain(stdout, script, slept_us, merge=merge)
        else:
            # Nothing but output is in it: what a file says is never reworded.
            stdout = as_real_programs(stdout, script, slept_us)
        stderr = self._plain(stderr, script, slept_us)
        for name in files_with_times(script):
            self._unmask_file(name, script, slept_us)
        pieces = tuple(
            (as_real_programs(out, script, slept_us), as_real_programs(err, script, slept_us))
            for out, err in pieces
        )
        if session.exit_code and "x" in session.options:
            stderr = stderr.removeprefix(f"+ exit {session.exit_code}\n")
        after = ShellSession()
        if keep == "cwd":
            after = ShellSession(cwd=self._bash.shell_state().cwd)
        elif keep == "all" and (notes is not None or done.verdict == "timeout" or not ends):
            after = self._after(session, exit_code, notes, began_us=began_us)
        moments = () if self._running is None else tuple(self._running.moments)
        self._running = None
        return ShellRun(stdout, stderr, exit_code, after, ending, pieces, moments)

    def _learn_names(self, script: str, session: ShellSession) -> None:
        """Makes the interpreter know the names in `script` that may be unknown commands."""
        if self.unknown is None:
            return
        exact = self.unknown.prepare(
            script,
            session,
            cwd=session.cwd or self.machine.workdir,
            path=environment(self.machine)["PATH"],
            analyze=self._bash.analyze,
            files=self.files,
        )
        words = self.unknown.words.keys()
        if words - self._learned or (exact and self._learned - words):
            self._renew()

    def _choose_streams(self, script: str) -> None:
        """Takes an interpreter in which commands read and write as they go, if they can in `script`."""
        analysis = None
        with suppress(BashError):
            analysis = self._bash.analyze(script)
        side_by_side = self.has_jobs or runs_side_by_side(script)
        chained = self._chained
        if programs_of(self.machine) or self.machine.has_internet:
            chained = chains(script, analysis, IN_ORDER | readers(), plain_commands())
        if (side_by_side, chained) != (self._side_by_side, self._chained):
            self._side_by_side, self._chained = side_by_side, chained
            self._renew()

    def _run_simple(self, script: str, *, merge: bool) -> ShellRun | None:
        """Runs a simple script in a fresh shell, here and now; `None` when it is not that simple."""
        self._failure = None
        self._running = None
        self._opaque = False
        bash = self._bash
        if self._pristine is not merge:
            bash.checkout(*self._fresh)
            bash.execute_sync(self._prelude(FRESH, None, merge=merge))
        self._pristine = None
        result = bash.execute_sync(script)
        failed = result.error is not None or result.stdout_truncated
        self._pristine = merge
        if self._failure is not None or failed:
            self._failure = self._pristine = None
            self._clear_cancel()
            return None
        if result.stdout and result.stderr:
            # Which was written first is seen on the long way only.
            self._pristine = None
            return None
        stdout, stderr = result.stdout, self._plain(result.stderr, script, 0)
        if merge:
            stdout, stderr = self._plain(stdout, script, 0) + stderr, ""
        if len(stdout) + len(stderr) > self.limits.output_bytes:
            return None
        pieces = ((stdout, stderr),) if stdout or stderr else ()
        moments = tuple(self.files.clock.now_us() for _ in pieces)
        return ShellRun(stdout, stderr, result.exit_code, FRESH, "finished", pieces, moments)

    def _after(
        self, before: ShellSession, exit_code: int, notes: Notes | None, *, began_us: int
    ) -> ShellSession:
        """The session that goes on after a script; without notes, some of it is as before."""
        state = self._bash.shell_state()
        # One more command whether there is something to clean up or not: what a shell keeps must
        # not show which means its disguise took. `$_` stays what it was.
        cleanup = self._shims.cleanup or ":"
        last = quote_word(state.variables.get("_", ""))
        self._bash.execute_sync(f"trap - EXIT; {cleanup}; : {last}")
        traps = {
            name: command
            for name, command in state.traps.items()
            if name != "EXIT" and command != HELPER
        }
        started_us = began_us if before.started_us is None else before.started_us
        now_us = self.files.clock.now_us()
        if notes is not None:
            if notes.exit_trap:
                traps["EXIT"] = notes.exit_trap
            # The embedded `SECONDS` also moves with the host's time, which no state may depend on.
            host_s = 0 if self._running is None else self._running.whole_seconds()
            usual = {(now_us - started_us) // 1_000_000}
            asked = "SECONDS" in self._script
            if not (asked and "sleep" in self._script):
                # Sleeping moves it only in a script that shows it.
                usual.add((began_us - started_us) // 1_000_000)
            asked |= self._opaque
            if asked and not any(one <= notes.seconds <= one + host_s for one in usual):
                started_us = now_us - notes.seconds * 1_000_000
        return ShellSession(
            cwd=state.cwd,
            memory=self._remember(),
            options=tuple(sorted(_options(state.variables))),
            traps=tuple(sorted(traps.items())),
            exit_code=exit_code,
            positional=before.positional if notes is None else notes.positional,
            redirects=redirects_in_force(
                before.redirects, () if notes is None else notes.redirects
            ),
            started_us=started_us,
        )

    def _remember(self) -> bytes:
        commit = capture(self._bash)
        memory = memory_of(commit)
        self._commits = {memory: commit}
        return memory

    def _commit(self, memory: bytes | None) -> Commit:
        """What restores `memory`; kept for the shell that was used last."""
        if memory is None:
            return self._fresh
        if memory not in self._commits:
            self._commits = {memory: commit_of(memory, self._fresh)}
        return self._commits[memory]

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
        if not text:
            return text
        text = faithful(text, script=script, said=self._said) if merge else text
        text = _OF_FILE.sub(self._complaint_of_file, text)
        text = bash_texts.plain(text, script=script, cwd=lambda: self._bash.shell_state().cwd)
        return as_real_programs(text, script, slept_us)

    def _complaint_of_file(self, found: re.Match[str]) -> str:
        try:
            text = self.files.read(join(self._bash.shell_state().cwd, found[1])).decode()
        except (OSError, UnicodeDecodeError):
            return found[0]
        return complaint_of_file(found[1], text, found[2])

    def _unmask_file(self, name: str, script: str, slept_us: int) -> None:
        path = name if name.startswith("/") else f"{self._bash.shell_state().cwd}/{name}"
        with suppress(OSError, UnicodeDecodeError):
            before = self.files.read(path).decode()
            after = as_real_programs(before, script, slept_us)
            if after != before:
                self.files.write(path, after.encode())

    def _prepare_shims(self, script: str, session: ShellSession) -> Shims:
        """What keeps `script` from seeing the embedded shell, and its devices made ready."""
        self._volatile.forget()
        now_us = self.files.clock.now_us()
        chance = self._volatile.prepare(script, now_us, self.random, opaque=self._opaque)

        def own_functions() -> set[str]:
            if session.memory is None:
                return set()
            listed = self._bash.execute_sync("trap - EXIT; declare -F").stdout
            return {line.rpartition(" ")[2] for line in listed.splitlines()}

        missing = missing_on(self.machine)
        absent = missing if self.unknown is None else self.unknown.absent_in(script)
        self._shims = shims_for(script, own_functions, chance=chance, absent=absent)
        if self._shims.functions:
            self._bash.execute_sync(f"trap - EXIT; {self._shims.functions}")
        return self._shims

    def _execute(
        self, full: str, script: str, timeout_us: int | None
    ) -> tuple[ScriptResult, tuple[tuple[str, str], ...]]:
        """Runs `full`, which holds `script`; also what it wrote, piece by piece."""
        prepare_programs(script, self._commands)
        clock = self.files.clock
        running = self._running = Execution(
            self._bash,
            self.limits,
            self.cancel,
            lambda: self.files.clock.now_us(),
            said=self._said,
        )
        deadline_us = None if timeout_us is None else clock.now_us() + timeout_us
        clock.deadline_us = deadline_us
        try:
            done = running.run(full, named=script)
        except EngineFailure:
            if self._failure is None:
                raise
            done = ScriptResult("", "", 1)
        finally:
            # What they fail of counts for this script, and they have its clock.
            if not self._programs.wait(STUCK_S):
                self._reusable = False
            clock.deadline_us = None
            lost = close_lost(self._calls)
            if running.stopped:
                self._clear_cancel()
        if lost and self._failure is None and done.verdict is None and not running.stopped:
            raise JobsMet(
                f"Two jobs of the script {script[:300]!r} called a command at the same moment, which the"
                " embedded shell cannot do. Let one job end before the next one begins: write `wait` between them,"
                " or leave the `&` out."
            )
        if isinstance(self._failure, (DeadlinePassed, Endless)):
            stopped = self._stopping and isinstance(self._failure, Endless)
            self._failure = None
            self._clear_cancel()
            done = ScriptResult(*running.output_so_far(), 124, running.cause(cancelled=stopped))
        if done.verdict == "timeout" and deadline_us is not None:
            clock.sleep(deadline_us - clock.now_us())
        pieces = tuple(
            (bash_texts.plain(out), bash_texts.plain(err)) for out, err in running.pieces()
        )
        return done, pieces

    def _parse(self, script: str) -> tuple[str, str | None]:
        """The part of `script` that parses, and what bash says of the first line that does not."""
        try:
            analysis = self._bash.analyze(script)
        except BashError as error:
            self._look = self._suspicious = self._opaque = True
            return split_at_syntax_error(script, str(error), self._bash.analyze)
        unclosed = split_at_unclosed_brace(script)
        if unclosed is not None:
            return unclosed
        effects = file_effects(analysis, script)
        self._look |= effects.look
        self._suspicious |= effects.suspicious
        self._opaque = effects.opaque
        return script, None

    def _prelude(self, session: ShellSession, stdin: bytes | None, *, merge: bool = False) -> str:
        """Sets what bashkit forgets, on the script's first line so that line numbers stay right."""
        now_us = self.files.clock.now_us()
        seconds, micro = divmod(now_us, 1_000_000)
        parts = [
            f"RANDOM={self.random.randrange(32768)}",
            f"EPOCHSECONDS={seconds} EPOCHREALTIME={seconds}.{micro:06d}",
        ]
        parts.append(f"exec >&{STDOUT} 2>&{STDOUT if merge else STDERR}")
        kept = descriptors(session.redirects)
        parts += [f"exec {number}>&-" for number in sorted(self._open - kept, key=int)]
        self._open = kept
        started_us = now_us if session.started_us is None else session.started_us
        parts.append(f"SECONDS={(now_us - started_us) // 1_000_000}; hash -r; complete -r")
        parts.append(f"set -- {' '.join(map(quote_word, session.positional))}")
        self._stdin.write_file(f"{FD}/0", stdin or b"")
        if stdin and _is_text(stdin):
            parts.append(f"exec < {STDIN_MOUNT}/0")
        cwd = session.cwd or self.machine.workdir
        if session.memory is None and cwd != "/":
            parts.append(f"cd {quote_word(cwd)} 2>/dev/null")
            parts.append("unset OLDPWD")
        parts += [f"exec {redirect}" for redirect in session.redirects]
        traps = {name: f"trap -- {quote_word(command)} {name}" for name, command in session.traps}
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


_SET_NAMES = frozenset("a b e f h k m n p t u v x B C E H P T pipefail posix vi emacs".split())
