"""`stty`, `tput` and `whereis`: what tools say where there is no terminal."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool

_COLORS = {"dumb": -1, "linux": 8, "xterm": 8, "vt100": -1, "screen": 8, "tmux": 8}
_STRINGS = {
    "bold": "\x1b[1m", "dim": "\x1b[2m", "smul": "\x1b[4m", "rmul": "\x1b[24m", "rev": "\x1b[7m",
    "sgr0": "\x1b(B\x1b[m", "clear": "\x1b[H\x1b[2J\x1b[3J", "cnorm": "\x1b[?12l\x1b[?25h",
    "civis": "\x1b[?25l", "el": "\x1b[K", "ed": "\x1b[J", "home": "\x1b[H", "bel": "\a",
    "smso": "\x1b[7m", "rmso": "\x1b[27m", "sitm": "\x1b[3m", "ritm": "\x1b[23m",
    "smcup": "\x1b[?1049h\x1b[22;0;0t", "rmcup": "\x1b[?1049l\x1b[23;0;0t", "cuu1": "\x1b[A",
}  # fmt: skip
_WHEREIS = Options("bmsfuB:M:S:lgV", {}, help_hint=False)


@tool
def stty(running: Tool) -> None:
    running.complain(f"{running.name_of('standard input')}: Inappropriate ioctl for device")


@tool
def tput(running: Tool) -> None:
    words, term = list(running.call.argv), running.call.env.get("TERM", "")
    while words and words[0].startswith("-T"):
        word = words.pop(0)
        term = word[2:] or (words.pop(0) if words else "")
    if not term:
        running.err.append("tput: No value for $TERM and no -T specified\n")
        running.code = 2
        return
    if not words:
        running.err.append(f"usage: {running.name} [-V] [-S] [-T term] capname\n")
        running.code = 2
        return
    name, parameters = words[0], words[1:]
    plain = term in ("dumb", "vt100")
    if name in ("cols", "lines"):
        size = running.call.env.get({"cols": "COLUMNS", "lines": "LINES"}[name], "")
        running.say(size if size.isdigit() else {"cols": "80", "lines": "24"}[name])
    elif name == "colors":
        running.say(str(256 if "256" in term else _COLORS.get(term.split("-")[0], 8)))
    elif name in ("longname",):
        running.out.append(term)
    elif name in ("reset", "init"):
        pass
    elif name in ("setaf", "setab") and parameters:
        if plain:
            running.code = 1
            return
        running.out.append(_color(name, int(parameters[0]) if parameters[0].isdigit() else 0))
    elif name == "cup" and len(parameters) == 2:
        running.out.append(f"\x1b[{int(parameters[0]) + 1};{int(parameters[1]) + 1}H")
    elif name in _STRINGS:
        if plain and name != "bel":
            running.code = 1
            return
        running.out.append(_STRINGS[name])
    else:
        running.err.append(f"tput: unknown terminfo capability '{name}'\n")
        running.code = 4


def _color(name: str, number: int) -> str:
    base = 30 if name == "setaf" else 40
    if number < 8:
        return f"\x1b[{base + number}m"
    if number < 16:
        return f"\x1b[{base + 52 + number}m"
    return f"\x1b[{base + 8};5;{number}m"


@tool
def whereis(running: Tool) -> None:
    given = _WHEREIS.parse(running.name, running.call.argv)
    programs = "m" not in given or "b" in given
    for name in given.operands:
        found = [
            f"{folder}/{name}"
            for folder in ("/usr/bin", "/usr/sbin")
            if programs and running.files.exists(f"{folder}/{name}")
        ]
        running.say(" ".join([f"{name}:", *found]))


COMMANDS: Mapping[str, Command] = {"stty": stty, "tput": tput, "whereis": whereis}
