"""A terminal with keystrokes and a screen, over one shell that is kept.

Commands are run to their end when they are entered; what they write appears when the world's clock
has come to the moment at which they wrote it. Ctrl-C takes back what has not appeared, and not what
the command did to files after that moment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import pyte

from agentworld_sim.engines.shell.live_shell import LiveShell, ShellRun
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.script_analysis import needs_more_input
from agentworld_sim.engines.shell.session import ShellSession

_NAMED = {
    "C-a": "\x01", "C-b": "\x02", "C-c": "\x03", "C-d": "\x04", "C-e": "\x05", "C-f": "\x06",
    "C-h": "\x7f", "C-k": "\x0b", "C-l": "\x0c", "C-n": "\x0e", "C-p": "\x10", "C-u": "\x15",
    "C-w": "\x17", "C-z": "\x1a", "C-\\": "\x1c", "Enter": "\n", "C-m": "\n", "C-j": "\n",
    "Tab": "\t", "BSpace": "\x7f", "Escape": "\x1b", "Space": " ", "Up": "\x10", "Down": "\x0e",
    "Left": "\x02", "Right": "\x06", "Home": "\x01", "End": "\x05", "DC": "\x1b[3~",
}  # fmt: skip

_SEQUENCES = {
    "\x1b[A": "\x10", "\x1b[B": "\x0e", "\x1b[C": "\x06", "\x1b[D": "\x02", "\x1b[H": "\x01",
    "\x1b[F": "\x05", "\x1bOA": "\x10", "\x1bOB": "\x0e", "\x1bOC": "\x06", "\x1bOD": "\x02",
}  # fmt: skip

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z]|.)?", re.DOTALL)


def keys(keystrokes: str) -> Iterator[str]:
    """One character a key: what is typed, or the control character of a key.

    `C-c` and the other names are keys only when they are all of `keystrokes`.
    """
    text = _NAMED.get(keystrokes, keystrokes)
    position = 0
    while position < len(text):
        found = _ESCAPE.match(text, position)
        if found:
            if found[0] in _SEQUENCES:
                yield _SEQUENCES[found[0]]
            position = found.end()
            continue
        yield {"\r": "\n", "\b": "\x7f"}.get(text[position], text[position])
        position += 1


@dataclass(frozen=True, slots=True)
class Line:
    """The line being edited at a prompt, as readline's Emacs mode does."""

    text: str = ""
    at: int = 0
    """Where the cursor stands."""

    def after_key(self, key: str) -> Line:
        """The line after one key; keys that do nothing here leave it as it is."""
        before, after = self.text[: self.at], self.text[self.at :]
        if key >= " " and key != "\x7f":
            return Line(before + key + after, self.at + 1)
        if key == "\x7f":
            return Line(before[:-1] + after, max(0, self.at - 1))
        if key == "\x04":
            return Line(before + after[1:], self.at)
        if key == "\x15":
            return Line(after, 0)
        if key == "\x0b":
            return Line(before, self.at)
        if key == "\x17":
            left = re.sub(r"\S*\s*$", "", before)
            return Line(left + after, len(left))
        to = {"\x01": 0, "\x05": len(self.text), "\x02": self.at - 1, "\x06": self.at + 1}
        return Line(self.text, min(len(self.text), max(0, to.get(key, self.at))))


ROWS, COLUMNS = 40, 160
"""The size that terminal benchmarks give their sessions."""


@dataclass(frozen=True, slots=True)
class Display:
    """A screen as a value."""

    lines: tuple[str, ...] = ()
    """From the top; missing ones are blank."""
    row: int = 0
    column: int = 0
    rows: int = ROWS
    columns: int = COLUMNS

    def fed(self, text: str) -> Display:
        """The screen after `text` was written to it; a newline also returns the carriage."""
        if not text:
            return self
        screen = pyte.Screen(self.columns, self.rows)
        stream = pyte.Stream(cast("Any", screen))
        stream.feed("\r\n".join(self.lines))
        screen.cursor_position(self.row + 1, self.column + 1)
        stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        lines = [line.rstrip() for line in screen.display]
        row, column = screen.cursor.y, min(screen.cursor.x, self.columns - 1)
        while lines and not lines[-1]:
            lines.pop()
        return Display(tuple(lines), row, column, self.rows, self.columns)

    @property
    def text(self) -> str:
        """The rows, blank ones at the end left out."""
        return "\n".join(self.lines)


_LINE = re.compile(r"(?m)^bash: (?:-c: )?line \d+: ")
_QUOTED_LINE = re.compile(r"(?m)^bash: -c: line \d+: `.*'\n")
_READ = re.compile(r"read(?:\s+-[rs]+|\s+-p\s+(?P<prompt>\"[^\"]*\"|'[^']*'|\S+))*(?:\s+\w+)*")


def usual_prompt(machine: Machine, session: ShellSession) -> str:
    """The prompt of Debian's shells."""
    cwd = session.cwd or machine.workdir
    if cwd == machine.home or cwd.startswith(machine.home + "/"):
        cwd = "~" + cwd[len(machine.home) :]
    sign = "#" if machine.user == "root" else "$"
    return f"{machine.user}@{machine.hostname}:{cwd}{sign} "


def interactive_texts(text: str) -> str:
    """Messages without the line numbers that only a script's have."""
    return _LINE.sub("bash: ", _QUOTED_LINE.sub("", text))


def reader_of(command: str) -> str | None:
    """What a command that reads the keyboard shows first; `None` when it reads none."""
    if command == "cat":
        return ""
    found = _READ.fullmatch(command)
    if found is None:
        return None
    prompt = found["prompt"] or ""
    return prompt[1:-1] if prompt[:1] in ("'", '"') else prompt


FOR_EVER_US = 2**62
"""When a command ends that never ends."""

PATIENCE_US = 86_400_000_000
"""A command that takes longer than a day is one that never ends."""

HISTORY = 500


@dataclass(frozen=True, slots=True)
class Keystrokes:
    """One item of an action: what is typed, and how long is waited after it."""

    keystrokes: str
    duration: float = 0.0
    """Seconds."""


@dataclass(frozen=True, slots=True)
class TerminalScreen:
    """A terminal between two actions."""

    display: Display = field(default_factory=Display)
    """Everything but the prompt that is being typed at."""
    line: Line = field(default_factory=Line)
    block: str = ""
    """Lines of a command that is not complete yet."""
    reading: str = ""
    """The command that waits for typed lines; empty for none."""
    history: tuple[str, ...] = ()
    recalled: int = 0
    """How far back in the history the line is; 0 for a line of its own."""
    queue: tuple[tuple[int, str], ...] = ()
    """What will be written, and when, on the world's clock."""
    busy_until_us: int | None = None
    """When the running command ends; `None` at a prompt."""
    running: str = ""
    ahead: str = ""
    """Typed while a command runs."""
    nested: int = 0
    """Shells started from the shell."""
    ps1: str = ""
    """The prompt, if it is one of the user's own."""
    ended: bool = False

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> TerminalScreen:
        value = cast("dict[str, Any]", json.loads(data))
        value["display"]["lines"] = tuple(value["display"]["lines"])
        value["display"] = Display(**value["display"])
        value["line"] = Line(**value["line"])
        value["history"] = tuple(value["history"])
        value["queue"] = tuple((moment, text) for moment, text in value["queue"])
        return cls(**value)


def press(
    live: LiveShell,
    session: ShellSession,
    screen: TerminalScreen,
    keystrokes: Iterable[Keystrokes],
) -> tuple[TerminalScreen, ShellSession, str]:
    """Types `keystrokes` into a terminal, in a turn that has been started; none leave everything as it is.

    Returns:
        The terminal and the shell afterwards, and what the screen shows.
    """
    terminal = _Terminal(live, session, screen)
    terminal.catch_up()
    for item in keystrokes:
        for key in keys(item.keystrokes):
            terminal.key(key)
        live.files.clock.sleep(round(item.duration * 1_000_000))
        terminal.catch_up()
    return terminal.screen, terminal.session, terminal.text


class _Terminal:
    def __init__(self, live: LiveShell, session: ShellSession, screen: TerminalScreen) -> None:
        self._live = live
        self.session: ShellSession = session
        self.screen: TerminalScreen = screen

    @property
    def text(self) -> str:
        """What the screen shows now."""
        screen = self.screen
        if screen.ended or screen.busy_until_us is not None:
            return screen.display.text
        prompt = "" if screen.reading else self._prompt()
        shown = screen.display.fed(prompt + screen.line.text)
        # A prompt's own blank at the end is not seen.
        return shown.text

    def _prompt(self) -> str:
        if self.screen.block:
            return "> "
        return self.screen.ps1 or usual_prompt(self._live.machine, self.session)

    def _change(self, **changes: Any) -> None:
        self.screen = replace(self.screen, **changes)

    def _write(self, text: str) -> None:
        self._change(display=self.screen.display.fed(text))

    def catch_up(self) -> None:
        """Lets appear what was written until now; then what was typed ahead is read."""
        while self.screen.busy_until_us is not None:
            now_us = self._live.files.clock.now_us()
            due = [text for moment, text in self.screen.queue if moment <= now_us]
            self._change(queue=self.screen.queue[len(due) :])
            self._write("".join(due))
            if self.screen.busy_until_us > now_us:
                return
            ahead = self.screen.ahead
            self._change(busy_until_us=None, running="", ahead="", queue=())
            for key in ahead:
                self.key(key)

    def key(self, key: str) -> None:
        screen = self.screen
        if screen.ended:
            return
        if screen.busy_until_us is not None:
            self._key_while_busy(key)
        elif key == "\x03":
            self._write(self._echo() + "^C\n")
            self._change(line=Line(), block="", reading="", recalled=0)
            self.session = replace(self.session, exit_code=130)
        elif key == "\x04" and not screen.line.text:
            self._end_of_input()
        elif key == "\x0c":
            self._change(display=Display(rows=screen.display.rows, columns=screen.display.columns))
        elif key == "\n":
            self._enter()
        elif key in ("\x10", "\x0e"):
            self._recall(1 if key == "\x10" else -1)
        elif key == "\t":
            pass
        else:
            self._change(line=screen.line.after_key(key))

    def _echo(self) -> str:
        return ("" if self.screen.reading else self._prompt()) + self.screen.line.text

    def _key_while_busy(self, key: str) -> None:
        if key in ("\x03", "\x1a", "\x1c"):
            shown = {"\x03": "^C\n", "\x1a": "^Z\n", "\x1c": "^\\Quit (core dumped)\n"}[key]
            if key == "\x1a":
                shown += f"[1]+  Stopped                 {self.screen.running}\n"
            code = {"\x03": 130, "\x1a": 148, "\x1c": 131}[key]
            self._write(shown)
            self._change(busy_until_us=None, running="", ahead="", queue=())
            self.session = replace(self.session, exit_code=code)
            return
        self._write({"\x04": "", "\t": "\t"}.get(key, key if key >= " " or key == "\n" else ""))
        self._change(ahead=self.screen.ahead + key)

    def _end_of_input(self) -> None:
        if self.screen.reading:
            self._change(reading="")
        elif self.screen.block:
            self._write("> bash: syntax error: unexpected end of file\n")
            self._change(block="")
        else:
            self._write(self._prompt() + "\n")
            self._leave()

    def _leave(self) -> None:
        self._write("exit\n")
        if self.screen.nested:
            self._change(nested=self.screen.nested - 1)
        else:
            self._change(ended=True)

    def _recall(self, way: int) -> None:
        at = self.screen.recalled + way
        if 0 <= at <= len(self.screen.history):
            text = self.screen.history[-at] if at else ""
            self._change(recalled=at, line=Line(text, len(text)))

    def _enter(self) -> None:
        text = self.screen.line.text
        self._write(self._echo() + "\n")
        self._change(line=Line(), recalled=0)
        if self.screen.reading:
            self._read(text)
            return
        script = self.screen.block + text
        if needs_more_input(script):
            self._change(block=script + "\n")
            return
        self._change(block="")
        if not script.strip():
            return
        if not script.startswith(" ") and script not in self.screen.history[-1:]:
            self._change(history=(*self.screen.history, script)[-HISTORY:])
        self._command(script)

    def _read(self, text: str) -> None:
        if self.screen.reading == "cat":
            self._write(text + "\n")
            return
        script = self.screen.reading
        self._change(reading="")
        self._run(script, stdin=text + "\n")

    def _command(self, script: str) -> None:
        word = script.strip()
        if word in ("bash", "sh"):
            self._change(nested=self.screen.nested + 1)
            return
        reader = reader_of(word)
        if reader is not None:
            self._write(reader)
            self._change(reading=word)
            return
        self._run(script)

    def _run(self, script: str, stdin: str | None = None) -> None:
        clock = self._live.files.clock
        began_us = clock.now_us()
        before = self.session
        run = self._live.run(
            script,
            before,
            keep="all",
            stdin=None if stdin is None else stdin.encode(),
            merge=True,
            timeout_us=PATIENCE_US,
        )
        ends_us = FOR_EVER_US if run.ending == "timeout" else clock.now_us()
        clock.rewind(began_us)
        self.session = run.session
        left = run.ending == "finished" and run.session == ShellSession()
        if left and re.search(r"(?:unbound variable|parameter null or not set)\n\Z", run.stdout):
            # Only a shell that reads a script leaves then.
            self.session, left = replace(before, exit_code=run.exit_code), False
        if self.screen.ps1 or "PS1" in script or "activate" in script:
            shown = self._live.run('printf %s "${PS1@P}"', self.session, keep="nothing")
            self._change(ps1=shown.stdout)
        self._change(queue=_pieces(run, began_us), busy_until_us=ends_us, running=script)
        if left:
            self._write("".join(text for _, text in self.screen.queue))
            self._change(queue=(), busy_until_us=None, running="")
            self.session = ShellSession(cwd=before.cwd) if self.screen.nested else run.session
            self._leave()
            return
        self.catch_up()


def _pieces(run: ShellRun, began_us: int) -> tuple[tuple[int, str], ...]:
    """What a command writes and when; all at once when its clock stood still."""
    moments = [moment for moment in run.moments if moment > began_us]
    if not moments:
        return ((began_us, interactive_texts(run.stdout + run.stderr)),)
    written = zip(run.moments, run.written, strict=False)
    return tuple((moment, interactive_texts(out + err)) for moment, (out, err) in written)
