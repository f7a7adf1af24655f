"""The keystroke terminal, against a real bash in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.terminal_emulator import (
    COLUMNS,
    ROWS,
    Display,
    Keystrokes,
    Line,
    TerminalScreen,
    keys,
    press,
)
from tests.engines.shell.limited import START_US, Kept

PROMPT = "root@debian:~# "


class Typed:
    """A terminal on a small machine. Every action goes through bytes, on a new machine if asked."""

    def __init__(self, *, reopened: bool = False) -> None:
        self.kept = Kept()
        self.screen = TerminalScreen()
        self.session = ShellSession()
        self.now_us = START_US
        self._reopened = reopened

    def __call__(self, *items: str | tuple[str, float]) -> str:
        if self._reopened:
            tree, blobs = self.kept.tree, self.kept.blobs
            self.kept = Kept()
            self.kept.blobs, self.kept.tree = blobs, tree
            self.kept.live.materialise(tree, blobs)
            self.screen = TerminalScreen.from_bytes(self.screen.to_bytes())
            self.session = ShellSession.from_bytes(self.session.to_bytes())
        live = self.kept.live
        live.start_turn(self.now_us, 1)
        typed = [
            Keystrokes(*item) if isinstance(item, tuple) else Keystrokes(item) for item in items
        ]
        self.screen, self.session, text = press(live, self.session, self.screen, typed)
        self.kept.tree = self.kept.tree.with_changes(live.collect(self.kept.blobs))
        self.now_us = live.files.clock.now_us()
        return text


PATIENCE_S = 20.0
"""How long the real terminal may take to come to where the simulated one is."""


@dataclass(frozen=True)
class Moment:
    """Where a terminal is to be before the next keys are typed."""

    screen: str
    waiting: bool
    """For keys at a prompt; otherwise a command runs or reads."""
    program: str = ""
    """The program that runs; empty for none, or for a command of the shell's own."""


def _moments(typed: Typed, items: Sequence[str]) -> list[Moment]:
    """Where the simulated terminal is after each of `items`."""
    moments: list[Moment] = []
    for item in items:
        shown, screen = typed(item), typed.screen
        waiting = screen.busy_until_us is None and not screen.reading and not screen.ended
        command = "" if waiting or screen.ended else screen.running or screen.reading
        program = command.split(" ")[0]
        known = shutil.which(program, path="/usr/bin:/bin")
        moments.append(Moment(shown, waiting, program if known else ""))
    return moments


class RealTerminal:
    """A real bash in a pseudo-terminal."""

    def __init__(self, home: Path) -> None:
        self._child, self._terminal = pty.fork()
        if not self._child:
            os.chdir(home)
            environment = {
                "HOME": str(home),
                "PATH": "/usr/bin:/bin",
                "PS1": PROMPT,
                "TERM": "xterm",
                "LINES": str(ROWS),
                "COLUMNS": str(COLUMNS),
            }
            os.execve("/usr/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment)
        self._data = b""
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    def close(self) -> None:
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        os.close(self._terminal)

    @property
    def screen(self) -> str:
        text = re.sub(r"\x1b\[\?2004[hl]\r?", "", self._data.decode(errors="replace"))
        return Display().fed(text).text

    def type(self, item: str) -> None:
        os.write(self._terminal, "".join(keys(item)).replace("\n", "\r").encode())

    def come_to(self, moment: Moment) -> None:
        """Reads on until the terminal is where it is to be, or patience ends."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not self._is_at(moment):
            if not self._read(20):
                return
        # What comes although nothing more should is seen too.
        while self._read(60) == "more":
            pass

    def _is_at(self, moment: Moment) -> bool:
        if self.screen != moment.screen:
            return False
        # Keys that come while line editing takes or gives back the terminal are shown otherwise.
        by_lines = bool(termios.tcgetattr(self._terminal)[3] & termios.ICANON)
        if by_lines == moment.waiting:
            return False
        # Ctrl-C before the program has begun would be the shell's to hear.
        return not moment.program or self._in_front() == moment.program

    def _in_front(self) -> str:
        try:
            return Path(f"/proc/{os.tcgetpgrp(self._terminal)}/comm").read_text().strip()
        except OSError:
            return ""

    def _read(self, patience_ms: int) -> Literal["more", "nothing", ""]:
        """Empty once the shell has ended."""
        poll = select.poll()
        poll.register(self._terminal, select.POLLIN)
        if not poll.poll(patience_ms):
            return "nothing"
        try:
            part = os.read(self._terminal, 65536)
        except OSError:
            return ""
        self._data += part
        return "more" if part else ""


SEQUENCES = [
    ["echo hi\n"],
    ["echo ty", "ped\n"],
    ["nosuchcmd\n", "echo $?\n"],
    ["false\n", "echo $?\n"],
    ["echo abc", "C-c", "echo $?\n"],
    ["for i in 1 2\n", "do echo $i\n", "done\n"],
    ["cat <<EOF > f\n", "one\n", "two\n", "EOF\n", "cat f\n"],
    ["echo 'a\n", "b'\n"],
    ["echo a \\\n", "b\n"],
    ["x=5\n", "echo $x $((x + 1))\n"],
    ["f() {\n", "echo in $1\n", "}\n", "f y\n"],
    ["echo wrong", "\x7f\x7f\x7f\x7f\x7fright\n"],
    ["echo one two", "C-w", "three\n"],
    ["rm -rf /nothing", "C-u", "echo safe\n"],
    ["echo bd", "\x02", "\x02", "a", "C-e", "e\n"],
    ["echo first\n", "C-p", "\n"],
    ["echo 1\n", "echo 2\n", "\x1b[A", "\x1b[A", "\n"],
    ["echo 1\n", "C-p", "C-n", "echo 3\n"],
    ["if then\n", "echo $?\n"],
    ["echo )\n"],
    ["cat\n", "mirror\n", "C-d", "echo back\n"],
    ["read word\n", "typed\n", "echo $word\n"],
    ["read -p 'name? ' n\n", "bob\n", "echo $n\n"],
    ["sleep 30\n", "C-c", "echo $?\n"],
    ["echo a\n", "C-l"],
    ["printf 'no newline'\n"],
    ["printf '1\\r2\\n'\n"],
    ["printf '\\033[31mred\\033[0m\\n'\n"],
    ["ls /nope\n"],
    ["cd /nope\n", "echo $?\n"],
    ["seq 60\n"],
    ["seq 1 60 | tr '\\n' ' '\n"],
    ["\n", "\n", "echo x\n"],
    ["set -u\n", "echo $nope\n", "echo alive\n"],
    ["echo a; echo b >&2; echo c\n"],
    ["(exit 3)\n", "C-c", "echo $?\n"],
    ["exit\n"],
    ["C-d"],
    ["for x in 1\n", "C-c", "echo $?\n"],
    ["sleep 2\n", "echo ahead\n"],
]  # fmt: skip


@pytest.mark.parametrize(
    "items",
    [
        pytest.param(items, id="+".join(items)[:40], marks=() if n % 6 == 0 else pytest.mark.slow)
        for n, items in enumerate(SEQUENCES)
    ],
)
def test_a_screen_is_the_one_of_a_real_terminal(items: list[str], tmp_path: Path) -> None:
    typed = Typed()
    moments = _moments(typed, items)
    shown = moments[-1].screen
    if typed.screen.busy_until_us is not None:
        shown = typed(("", 5))
    real = RealTerminal(tmp_path)
    try:
        real.come_to(Moment(PROMPT.rstrip(), waiting=True))
        for item, moment in zip(items, moments, strict=True):
            real.type(item)
            real.come_to(moment)
        real.come_to(Moment(shown, waiting=not typed.screen.ended))
        assert real.screen == shown
    finally:
        real.close()


def test_a_slow_command_shows_its_output_when_the_clock_has_come_to_it() -> None:
    typed = Typed()
    command = "echo start; sleep 3; echo middle; sleep 3; echo end"
    echoed = f"{PROMPT}{command}\nstart"
    assert typed((command + "\n", 1)) == echoed
    assert typed(("", 1)) == echoed
    assert typed(("", 2)) == echoed + "\nmiddle"
    assert typed(("", 10)) == f"{echoed}\nmiddle\nend\n{PROMPT.rstrip()}"
    assert typed.now_us == START_US + 14_000_000


def test_nothing_at_all_leaves_everything_as_it_is() -> None:
    typed = Typed()
    before = typed("echo hi\n", "half")
    screen = typed.screen
    assert (typed(), typed.screen) == (before, screen)


def test_typing_while_a_command_runs_is_read_afterwards() -> None:
    typed = Typed()
    assert typed(("sleep 2\n", 0.5), ("echo ahead\n", 0.5)) == f"{PROMPT}sleep 2\necho ahead"
    assert typed(("", 2)).endswith(f"{PROMPT}echo ahead\nahead\n{PROMPT.rstrip()}")


def test_a_command_that_never_ends_is_left_with_ctrl_c() -> None:
    typed = Typed()
    assert typed(("echo a; yes | wc -l\n", 60)) == f"{PROMPT}echo a; yes | wc -l\na"
    assert typed("C-c", "echo $?\n").endswith(f"\n{PROMPT}echo $?\n130\n{PROMPT.rstrip()}")


def test_a_stopped_command_gives_the_prompt_back() -> None:
    typed = Typed()
    shown = typed(("sleep 100\n", 1), "C-z")
    assert shown.split("\n")[1:] == [
        "^Z",
        "[1]+  Stopped                 sleep 100",
        PROMPT.rstrip(),
    ]


def test_after_exit_nothing_is_typed_any_more() -> None:
    typed = Typed()
    assert typed("exit\n", "echo hi\n") == f"{PROMPT}exit\nexit"
    assert typed.screen.ended


def test_a_shell_in_the_shell_is_left_first() -> None:
    typed = Typed()
    assert typed("bash\n", "exit\n", "echo still\n").endswith(
        f"exit\n{PROMPT}echo still\nstill\n{PROMPT.rstrip()}"
    )


def test_the_prompt_shows_where_the_shell_is_and_what_the_user_made_of_it() -> None:
    typed = Typed()
    assert typed("mkdir -p d/e; cd d/e\n").endswith("root@debian:~/d/e#")
    assert typed("cd /tmp\n").endswith("root@debian:/tmp#")
    assert typed("PS1='[\\u@\\h \\W]\\$ '\n").endswith("[root@debian tmp]#")


def test_a_terminal_goes_on_on_another_machine() -> None:
    actions: list[tuple[str | tuple[str, float], ...]] = [
        ("x=1; cd /tmp\n", "echo half"),
        (" typed\n",),
        ("for i in a b\n",),
        ("do echo $i$x; done\n", ("sleep 4; echo late > f; cat f\n", 1)),
        ("ls",),
        (("", 5),),
        ("\n", "C-p"),
        ("\n",),
    ]
    live, moved = Typed(), Typed(reopened=True)
    for action in actions:
        assert live(*action) == moved(*action)
    assert (live.screen, live.kept.tree) == (moved.screen, moved.kept.tree)


def test_only_the_last_rows_are_shown() -> None:
    shown = Typed()("seq 100\n").split("\n")
    assert (len(shown), shown[0], shown[-1]) == (ROWS, "62", PROMPT.rstrip())


def test_a_screen_wraps_long_lines_and_obeys_control_sequences() -> None:
    display = Display(rows=3, columns=5)
    assert display.fed("abcdefg\nx").lines == ("abcde", "fg", "x")
    assert display.fed("a\nb\nc\nd").lines == ("b", "c", "d")
    assert display.fed("abc\rX").text == "Xbc"
    assert display.fed("abc\x1b[2J\x1b[Hd").text == "d"
    assert display.fed("ab").fed("c") == display.fed("abc")


def test_names_of_keys_are_keys_only_alone() -> None:
    assert list(keys("C-c")) == ["\x03"]
    assert list(keys("echo C-c")) == list("echo C-c")
    assert list(keys("a\x1b[Ab\r")) == ["a", "\x10", "b", "\n"]
    assert Line("ab", 1).after_key("X") == Line("aXb", 2)
