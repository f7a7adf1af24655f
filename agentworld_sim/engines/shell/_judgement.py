"""What a script may do to the files, told from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bashkit import ScriptAnalysis

_CHANGES_NOTHING = frozenset(
    "[ basename cat cmp cut date df diff dirname du echo egrep expr false fgrep file fold free grep"
    " groups head hostname id jq ls md5sum nl nproc od paste printenv ps pwd realpath rev seq"
    " sha1sum sha256sum stat tac tail test tr true uname uptime wc which whoami".split()
)
"""Commands that write no file. A script of nothing else needs no look at the files afterwards."""

_KEEPS_TIMES = re.compile(
    r"\b(?:cp|install|mv|touch|tar|unzip|rsync|patch|split|gzip|gunzip|bzip2|bunzip2|ln|dd|truncate)\b"
)

RUNS_OTHERS = frozenset("bash sh make xargs find env timeout sudo nohup".split())
"""Commands that run other commands."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How closely the files must be looked at after a script."""

    look: bool = True
    """Something may have been written."""
    suspicious: bool = True
    """Something may have been written and kept its time."""
    opaque: bool = True
    """What runs cannot be told from the text."""


def judged(analysis: ScriptAnalysis, script: str) -> Judgement:
    """What `script` may do to the files."""
    hidden = analysis.is_opaque or analysis.has_interpreter_reentry or bool(analysis.functions)
    names = set(analysis.command_names)
    writes = any(redirect.is_write for redirect in analysis.redirects)
    return Judgement(
        look=hidden or writes or not names <= _CHANGES_NOTHING,
        suspicious=hidden or bool(names & RUNS_OTHERS or _KEEPS_TIMES.search(script)),
        opaque=hidden or any("/" in name or name in RUNS_OTHERS for name in names),
    )
