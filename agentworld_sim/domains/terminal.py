"""The terminal: keystrokes in, a screen out."""

from __future__ import annotations

import re
from typing import Any, Literal, cast

from agentworld_sim.checks import CheckInput
from agentworld_sim.domains import Domain
from agentworld_sim.domains.text import action_json, plain_text, sendable
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation

TYPED_SECONDS = 0.1
"""How long a typed command is given before the screen is read."""

ROWS = 40
"""Lines of a screen."""

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>]"
)
"""Control sequences of a terminal: colours, cursor, title. A screen does not show them."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PROMPT = re.compile(r"(?P<who>(?:\([^()\s]+\) )?[\w.-]+@[\w.-]+):[^\n]*[#$]\s*\Z")
_COMMAND_ARGUMENTS = ("command", "commands", "cmd", "script", "code", "input")
"""What tools call the commands that they run; the first that is there counts."""

_PLAIN_COMMANDS = frozenset(
    "awk cat cd chmod cp date echo env find grep head id ls mkdir mv pwd rm rmdir sed sort tail"
    " touch uname wc which whoami".split()
)
"""Commands that leave their own echo on the screen, whatever they do."""


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """The keystrokes that the call amounts to, as a JSON list."""
    keystrokes: Any = call.arguments.get("keystrokes")
    if isinstance(keystrokes, str):
        # One entry of the list, as Terminus-2 has it.
        duration: Any = call.arguments.get("duration", TYPED_SECONDS)
        keystrokes = [{"keystrokes": keystrokes, "duration": duration}]
    if call.arguments.get("restart"):
        # An empty list would say that the task is done.
        keystrokes = [{"keystrokes": "exec bash\n", "duration": TYPED_SECONDS}]
    if not isinstance(keystrokes, list):
        # Nothing is typed by an empty text; an empty list would say that the task is done.
        keystrokes = [
            {"keystrokes": f"{line}\n", "duration": TYPED_SECONDS} for line in _commands(call)
        ] or [{"keystrokes": "", "duration": TYPED_SECONDS}]
    return Action(action_json(cast("list[object]", keystrokes)))


def read(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """The screen; for a tool that takes a command, what the command wrote on it."""
    screen = _SEQUENCE.sub("", sendable(text)).replace("\r\n", "\n")
    commands = _commands(call)
    if commands and "keystrokes" not in call.arguments:
        screen = _output(screen, commands)
    else:
        # Trailing blank lines are the empty rest of the screen; a prompt's space is not.
        screen = "\n".join(screen.rstrip("\n").split("\n")[-ROWS:])
    return Observation(text=screen, provenance="imagined")


def _commands(call: ToolCall) -> list[str]:
    names = [name for name in _COMMAND_ARGUMENTS if name in call.arguments]
    command: Any = call.arguments[names[0]] if names else ""
    lines = cast("list[object]", command) if isinstance(command, list) else [command]
    return [str(line) for line in lines if line]


def _output(screen: str, commands: list[str]) -> str:
    """The screen without prompts and echoes, if they are there: a shell tool returns only output."""
    typed = "\n".join(commands).split("\n")
    lines = screen.split("\n")
    found = _PROMPT.match(lines[-1])
    who = found["who"] if found else ""
    kept: list[str] = []
    for line in lines:
        prompt = bool(who) and line.startswith(f"{who}:")
        echo = typed and re.search(rf"[#$>] ?{re.escape(typed[0])}\s*\Z", line)
        if echo and (prompt or not kept):
            typed = typed[1:]
        elif not (prompt and _PROMPT.match(line)):
            kept.append(line)
    return "\n".join(kept)


class ScreenForm:
    """A screen has 40 rows of characters, and a command that was typed stands on it."""

    name = "terminal-screen"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        if "keystrokes" not in given.call.arguments:
            return None
        screen = given.observation.text
        rows = screen.count("\n") + 1
        if rows > ROWS:
            return f"the screen has {ROWS} lines and the answer {rows}; show the last {ROWS}"
        control = _CONTROL.search(screen)
        if control:
            return (
                f"a screen shows characters, and the answer contains the control character"
                f" {control[0]!r}; leave out escape codes and carriage returns"
            )
        return _missing_echo(given, rows)


def _missing_echo(given: CheckInput, rows: int) -> str | None:
    """Whether a plain command was typed at a prompt and neither it nor any prompt is shown."""
    command = _plain_command(given.call.arguments["keystrokes"])
    before = [turn for turn in given.history if "keystrokes" in turn.call.arguments]
    if command is None or not before or rows >= ROWS - 2:
        return None
    prompt = _PROMPT.match(before[-1].observation.text.rpartition("\n")[2])
    screen = given.observation.text
    if prompt is None or command in screen or f"{prompt['who']}:" in screen:
        return None
    return (
        f"the screen shows neither the prompt nor the command {command!r} that was typed at it; show"
        " the echoed command, its output and the next prompt"
    )


def _plain_command(keystrokes: Any) -> str | None:
    """The one plain command that was typed and run; `None` for anything else."""
    items = cast("list[Any]", keystrokes) if isinstance(keystrokes, list) else []
    if len(items) != 1 or not isinstance(items[0], dict):
        return None
    typed = cast("dict[str, Any]", items[0]).get("keystrokes")
    if not isinstance(typed, str) or typed.count("\n") != 1 or not typed.endswith("\n"):
        return None
    command = typed.strip()
    words = command.split()
    if not words or words[0] not in _PLAIN_COMMANDS or re.search(r"[;&|<>`$\\]|PS1", command):
        return None
    return command if len(command) <= 60 else None


DOMAIN = Domain(
    name="terminal",
    action=action,
    write=plain_text,
    read=read,
    fence="json",
    state="first",
    toolkits=("terminal",),
    checks=(ScreenForm(),),
)
