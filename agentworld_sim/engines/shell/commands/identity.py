"""Who and where: the user, the machine, its name and its locale."""

from __future__ import annotations

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import (
    Account,
    accounts,
    current_account,
    groups,
    groups_of,
    text_lines,
)
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool, with_help

_UNAME = Options("asnrvmpio", {
    "all": "a", "kernel-name": "s", "nodename": "n", "kernel-release": "r",
    "kernel-version": "v", "machine": "m", "processor": "p", "hardware-platform": "i",
    "operating-system": "o", "sysname": "s", "release": "r",
})  # fmt: skip


@tool
def uname(t: Tool) -> None:
    parsed = _UNAME.parse(t.name, t.call.argv)
    if parsed.operands:
        raise _UNAME.refuse(t.name, f"extra operand {t.quote(parsed.operands[0])}")
    machine = t.call.machine
    fields = {
        "s": "Linux",
        "n": machine.hostname,
        "r": machine.kernel,
        "v": machine.kernel_version,
        "m": machine.arch,
        "p": "unknown",
        "i": "unknown",
        "o": "GNU/Linux",
    }
    given = {name for name, _ in parsed.options}
    if "a" in given:
        # `-a` leaves out what is unknown.
        given = set("snrvmo")
    t.say(" ".join(value for name, value in fields.items() if name in (given or {"s"})))


@tool
def arch(t: Tool) -> None:
    t.say(t.call.machine.arch)


_HOSTNAME = Options("fIs", {
    "fqdn": "f", "long": "f", "all-ip-addresses": "I", "short": "s",
}, help_hint=False)  # fmt: skip


@tool
def hostname(t: Tool) -> None:
    parsed = _HOSTNAME.parse(t.name, t.call.argv)
    if parsed.operands:
        t.complain("you must be root to change the host name")
        return
    name = t.call.machine.hostname  # of the kernel: it follows `/etc/hostname` at the next boot
    if "I" in parsed:
        t.say("10.0.2.15 ")
    else:
        t.say(name.partition(".")[0] if "s" in parsed else name)


@tool
def whoami(t: Tool) -> None:
    if t.call.argv:
        raise Options("", {}).refuse("whoami", f"extra operand {t.quote(t.call.argv[0])}")
    t.say(current_account(t.call).name)


@tool
def logname(t: Tool) -> None:
    t.complain("no login name")


_ID = Options("aZgGnruz", {
    "context": "Z", "group": "g", "groups": "G", "name": "n", "real": "r", "user": "u", "zero": "z",
})  # fmt: skip


@tool
def id_(t: Tool) -> None:
    parsed = _ID.parse("id", t.call.argv)
    chosen = [name for name in "ugG" if name in parsed]
    if len(chosen) > 1:
        t.complain('cannot print "only" of more than one choice')
        return
    if "n" in parsed and not chosen:
        t.complain("cannot print only names or real IDs in default format")
        return
    for operand in parsed.operands or [""]:
        account = _account(t, operand)
        if account is None:
            t.complain(f"{t.quote(operand)}: no such user")
            continue
        t.say(_id_line(t.call, account, chosen[0] if chosen else "", names="n" in parsed))


def _account(t: Tool, operand: str) -> Account | None:
    if not operand:
        return current_account(t.call)
    return next((one for one in accounts(t.call) if operand in (one.name, str(one.uid))), None)


def _id_line(call: CommandCall, account: Account, chosen: str, *, names: bool) -> str:
    belongs = groups_of(call, account)
    if chosen == "u":
        return account.name if names else str(account.uid)
    if chosen == "g":
        belongs = belongs[:1]
    if chosen:
        return " ".join((name or str(gid)) if names else str(gid) for gid, name in belongs)
    shown = [f"{gid}({name})" if name else str(gid) for gid, name in belongs]
    return f"uid={account.uid}({account.name}) gid={shown[0]} groups={','.join(shown)}"


@tool
def groups_(t: Tool) -> None:
    for operand in t.call.argv or [""]:
        account = _account(t, operand)
        if account is None:
            t.complain(f"{t.quote(operand)}: no such user")
            continue
        names = " ".join(name or str(gid) for gid, name in groups_of(t.call, account))
        t.say(f"{operand} : {names}" if operand else names)


_DATABASES = ("passwd", "group", "hosts")


@tool
def getent(t: Tool) -> None:
    database, *keys = t.call.argv or [""]
    if database not in _DATABASES:
        usage = "Usage: getent [OPTION...] database [key ...]"
        t.err.append(f"Unknown database: {database}\n" if database else f"{usage}\n")
        t.err.append("Try `getent --help' or `getent --usage' for more information.\n")
        t.code = 1
        return
    lines = _database(t.call, database)
    for key in keys:
        found = [line for names, line in lines if key in names]
        t.out += [line + "\n" for line in found[:1]]
        t.code = t.code if found else 2
    if not keys:
        t.out += [line + "\n" for _, line in lines]


def _database(call: CommandCall, name: str) -> list[tuple[set[str], str]]:
    if name == "passwd":
        return [({one.name, str(one.uid)}, one.line) for one in accounts(call)]
    if name == "group":
        return [({one.name, str(one.gid)}, one.line) for one in groups(call)]
    found: list[tuple[set[str], str]] = []
    for line in text_lines(call, "/etc/hosts"):
        address, *names = line.partition("#")[0].split() or [""]
        if names:
            found.append(({address, *names}, f"{address:<15} {' '.join(names)}"))
    return found


@with_help
def which(call: CommandCall) -> CommandResult:
    words = [word for word in call.argv if word != "--"]
    options = [word for word in words if word.startswith("-")]
    if any(set(word[1:]) - set("as") or word == "-" for word in options):
        letter = next(c for word in options for c in word[1:] or "-" if c not in "as")
        text = f"Illegal option -{letter}\nUsage: /usr/bin/which [-a] args\n"
        return CommandResult(text, "", 2)
    found: list[str] = []
    names = [word for word in words if not word.startswith("-")]
    missing = not names
    for name in names:
        places = list(_in_path(call, name))
        missing |= not places
        found += places if any("a" in word for word in options) else places[:1]
    silent = any("s" in word for word in options)
    out = "" if silent else "".join(f"{place}\n" for place in found)
    return CommandResult(out, "", 1 if missing else 0)


def _in_path(call: CommandCall, name: str) -> list[str]:
    if "/" in name:
        full = name if name.startswith("/") else f"{call.cwd.rstrip('/')}/{name}"
        return [name] if _is_program(call, full) else []
    folders = call.env.get("PATH", "").split(":")
    return [f"{folder}/{name}" for folder in folders if _is_program(call, f"{folder}/{name}")]


def _is_program(call: CommandCall, path: str) -> bool:
    try:
        found = call.files.stat(path)
    except OSError:
        return False
    return found.kind == "file" and bool(found.mode & 0o111)
