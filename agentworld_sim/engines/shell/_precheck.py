"""Looks at a script before it runs, for what the embedded shell would quietly do otherwise.

Some limits of bashkit leave no trace: a brace expansion of more than 10,000 words stays as it is
written, a device gives its first megabyte and ends. And some programs never end on a real machine,
where bashkit's do. Both show in the script's text.
"""

from __future__ import annotations

import re

from agentworld_sim.engines.shell._awk_loops import surely_ends
from agentworld_sim.engines.shell._limit_texts import unfaithful

BRACES = 10_000
"""Words up to which bashkit expands a range."""

PRODUCT = 4_096
"""Words up to which it surely expands several braces in one word."""

DEVICE_BYTES = 65_536
"""What the embedded random devices give in one piece."""

YES_BYTES = 2 * 1024 * 1024
"""What `yes` writes here at most."""

DEVICE_DD = "/proc/self/dd"
APART_AWK = "/proc/self/awk"
ENDLESS = "/proc/self/endless"
FORKS = "/proc/self/forks"
"""Commands of ours that a script's own `dd` and `awk` become where the embedded ones would not do.
They have names of their own because a command written in Python passes text, not any bytes."""

_RANGE = re.compile(r"\{(-?\d{1,18})\.\.(-?\d{1,18})(?:\.\.(-?\d{1,18}))?\}")
_GROUPS = re.compile(r"[^\s;|&]*\{[^\s;|&]*,[^\s;|&]*\}[^\s;|&]*")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", re.DOTALL)
_QUOTED_OR_LAST = re.compile(r"('[^']*'|\\.)|\$\{!\}", re.DOTALL)
_HEAD_DEVICE = re.compile(
    r"\bhead\s+(?:-c\s*|--bytes[= ])(?P<count>[^\s;|&<>()]+)\s+<?\s*(?P<device>/dev/(?:zero|u?random))(?=[\s;|&)]|$)"
)
_WHOLE = (
    r"base64|cat|cksum|cp|cut|gzip|hexdump|md5sum|nl|od|rev|sha\d+sum|sort|tac|tee|tr|uniq|wc|xxd"
)
_DEVICE = re.compile(
    rf"\b(?P<word>{_WHOLE})\b(?:[^|;&\n]*[\s<])/dev/(?:zero|u?random)\b(?P<rest>[^;&\n]*)"
)
_YES = re.compile(r"(?:^|[;&|(\n]|\b(?:do|then|else|sudo)\b)\s*(?P<word>yes)\b(?P<rest>[^;&\n]*)")
_BOUNDED = re.compile(
    r"^(?:od\b.*\s(?:-\w*N\s*|--read-bytes[= ])\d|xxd\b.*\s-l(?:en)?\s*\d|hexdump\b.*\s-\w*n\s*\d)"
)
_READS_ALL = re.compile(
    rf"^\s*(?:{_WHOLE}|awk|grep|sed|paste|fold|fmt|column|shuf|split|strings|dd)\b"
)
_FOLLOW = re.compile(
    r"\btail\b(?P<before>(?:[ \t]+[^\s|;&]+)*?)[ \t]+(?:-f|-F|--follow(?:=\w+)?|-(?P<count>\d+)f)"
    r"(?P<after>(?:[ \t]+[^\s|;&<>]+)*)"
)
_DD = re.compile(
    r"(?<![\w./-])dd(?P<operands>(?=[^|;&\n]*\bif=/dev/(?P<device>zero|u?random)\b)[^|;&\n]*)"
)
_AWK = re.compile(
    r"(?P<before>(?:^|[;&|({\n]|\b(?:do|then|else|if|while|time|sudo|env|nice|nohup)\b"
    r"|\btimeout\s+(?:-\S+\s+)*[\d.]+[smhd]?\b)\s*)[mgn]?awk(?=\s)"
)
_FORK_BOMB = re.compile(r"(?P<name>[\w:.]+)\s*\(\)\s*\{\s*(?P=name)\s*\|\s*(?P=name)\s*&\s*;?\s*\}")
_COUNT = re.compile(r"\bhead\b[^|]*?(?:-c|--bytes)[= ]*(\d+)([kKMG]?)")


def checked(script: str) -> str:
    """`script`, made ready.

    Raises:
        EngineFailure: it holds something that bashkit would quietly not do.
    """
    if "{" in script:
        _check_braces(script)
    if "/dev/" in script:
        script = _DD.sub(_with_dd, _HEAD_DEVICE.sub(_through_dd, script))
        script = _marked(script, _DEVICE, DEVICE_BYTES // 4)
    if "&" in script:
        # bashkit would work it off, in a time that doubles with every level.
        script = _FORK_BOMB.sub(rf"\g<name>() {{ {FORKS}; }}", script)
    if "yes" in script:
        script = _marked(script, _YES, YES_BYTES // 2)
    if "awk" in script:
        script = _with_awk(script)
    if "${!}" in script:
        # bashkit does not know this spelling.
        script = _QUOTED_OR_LAST.sub(lambda found: found[1] or "$!", script)
    if "tail" in script:
        script = _FOLLOW.sub(_followed, script)
    return script


def _marked(script: str, source: re.Pattern[str], most: int) -> str:
    """`script` with a command of ours at each pipeline that never ends: it ends the turn there."""
    bare = _QUOTED.sub(lambda found: "'" + "q" * (len(found[0]) - 2) + "'", script)
    for found in reversed(list(source.finditer(bare))):
        rest = found["rest"]
        if source is _DEVICE and _BOUNDED.search(found[0]):
            continue
        if re.match(r"\s+--(?:help|version)", rest) or _ends(rest, most, script):
            continue
        start, end = found.start("word"), found.end()
        if "|" in rest or ">" in rest or source is _DEVICE:
            script = f"{script[:start]}{ENDLESS}; {script[start:]}"
        else:
            script = f"{script[:end]}; {ENDLESS}{script[end:]}"
    return script


def _with_dd(found: re.Match[str]) -> str:
    if found["device"] == "zero" or " of=" in found[0]:
        return f"{DEVICE_DD}{found['operands']}"
    asked = re.search(r"\bcount=(\d+)", found[0])
    block = re.search(r"\bbs=(\d+)(?=\s|$)", found[0])
    if asked and int(asked[1]) * (int(block[1]) if block else 512) <= DEVICE_BYTES:
        return found[0]
    raise unfaithful(f"more than {DEVICE_BYTES:,} bytes of {found['device']}", found[0])


def _with_awk(script: str) -> str:
    def chosen(found: re.Match[str]) -> str:
        ends = surely_ends(found.string[found.end() :])
        return found[0] if ends else f"{found['before']}{APART_AWK}"

    return _AWK.sub(chosen, script)


def _check_braces(script: str) -> None:
    bare = _QUOTED.sub("''", script)
    for found in _RANGE.finditer(bare):
        first, last, step = int(found[1]), int(found[2]), abs(int(found[3] or 1)) or 1
        if abs(last - first) // step >= BRACES:
            raise unfaithful(f"{found[0]} expands to more than {BRACES:,} words", script)
    for word in _GROUPS.findall(bare):
        count = 1
        for group in re.findall(r"\{([^{}]*,[^{}]*)\}", word):
            count *= group.count(",") + 1
        if count > PRODUCT and "}{" in word:
            raise unfaithful(f"{word[:60]} expands to more than {PRODUCT:,} words", script)


def _through_dd(found: re.Match[str]) -> str:
    count = found["count"]
    if re.fullmatch(r"\d+", count) and int(count) <= DEVICE_BYTES:
        return found[0]
    if found["device"] == "/dev/zero":
        return f"dd if=/dev/zero iflag=count_bytes count={count} status=none"
    if re.fullmatch(r"\d+\w*", count):
        raise unfaithful(f"{count} bytes of {found['device']}", found[0])
    return found[0]


def _ends(rest: str, most: int, script: str) -> bool:
    """Whether a pipeline that starts with an endless source ends: its last stages are in `rest`."""
    if "|" not in rest:
        return False
    if not re.search(r"\|\s*(?:head|sed\s+-?n?\s*\d*q|grep\s+-\w*m|read|dd)\b", rest):
        return not _READS_ALL.match(rest.partition("|")[2])
    asked = _COUNT.search(rest)
    if asked:
        unit = {"": 1, "k": 1024, "K": 1024, "M": 1 << 20, "G": 1 << 30}[asked[2]]
        if int(asked[1]) * unit > most:
            raise unfaithful(f"{asked[1]}{asked[2]} bytes of an endless source", script)
    return True


def _followed(found: re.Match[str]) -> str:
    count = f" -n {found['count']}" if found["count"] else ""
    shown = f"tail{count}{found['before']}{found['after']}"
    return f"bash -c '{shown}; exec sleep infinity'" if "'" not in shown else found[0]
