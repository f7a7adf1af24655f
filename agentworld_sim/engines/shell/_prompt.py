"""What an interactive bash shows beside the output of commands: prompts and its own messages."""

from __future__ import annotations

import re

from agentworld_sim.engines.shell._live import LiveShell
from agentworld_sim.engines.shell.session import ShellSession

_LINE = re.compile(r"(?m)^bash: (?:-c: )?line \d+: ")
_QUOTED_LINE = re.compile(r"(?m)^bash: -c: line \d+: `.*'\n")
_READ = re.compile(r"read(?:\s+-[rs]+|\s+-p\s+(?P<prompt>\"[^\"]*\"|'[^']*'|\S+))*(?:\s+\w+)*")


def shown_prompt(live: LiveShell, session: ShellSession, ps1: str) -> str:
    """The prompt of Debian's root, or what the user made of it."""
    machine = live.machine
    cwd = session.cwd or machine.workdir
    if cwd == machine.home or cwd.startswith(machine.home + "/"):
        cwd = "~" + cwd[len(machine.home) :]
    sign = "#" if machine.user == "root" else "$"
    if not ps1:
        return f"{machine.user}@{machine.hostname}:{cwd}{sign} "
    words = {
        "u": machine.user,
        "h": machine.hostname,
        "H": machine.hostname,
        "w": cwd,
        "W": cwd.rpartition("/")[2] or cwd,
        "$": sign,
        "[": "",
        "]": "",
        "n": "\n",
        "s": "bash",
        "e": "\x1b",
        "a": "",
        "\\": "\\",
    }
    text = ps1.replace("${debian_chroot:+($debian_chroot)}", "")
    text = re.sub(r"\\033", "\x1b", text)
    return re.sub(r"\\(.)", lambda found: words.get(found[1], found[0]), text)


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
