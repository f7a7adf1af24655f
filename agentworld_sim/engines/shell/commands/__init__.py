"""Commands written here because the embedded shell's own differ from a plain Debian machine's.

Each module holds the commands of one kind and names them in a `COMMANDS` mapping.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands import (
    apt,
    awk_jq,
    builtins,
    chmod_chown,
    cp_mv,
    date_timeout,
    df_free,
    diff_cmp,
    du,
    expr,
    find,
    helper,
    identity,
    ln_readlink,
    ls,
    mkdir_rm,
    ps,
    seq_dd,
    shuf_mktemp,
    stat,
    touch,
    xargs,
)

_MODULES = (
    builtins, shuf_mktemp, helper, identity, apt, ps, df_free, date_timeout,
    chmod_chown, awk_jq, seq_dd, du, touch, stat, cp_mv, mkdir_rm,
    ln_readlink, find, diff_cmp, expr, xargs, ls,
)  # fmt: skip

COMMANDS: Mapping[str, Command] = {
    name: command for module in _MODULES for name, command in module.COMMANDS.items()
}

_IN_ORDER = "chgrp chmod chown cp du find ln ls mkdir mv readlink realpath stat touch"
IN_ORDER = frozenset(_IN_ORDER.split())
"""Commands whose messages and output keep their order when both go the same way.

bashkit would put all output before all messages. None of these reads standard input: it could not
run anything else while one waits.
"""
