"""Who and where: the user, the machine, its name and its locale."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import (
    Account,
    accounts,
    current,
    groups,
    groups_of,
    text_lines,
)
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool
from agentworld_sim.engines.shell.commands._usage import described

_UNAME = Options("asnrvmpio", {
    "all": "a", "kernel-name": "s", "nodename": "n", "kernel-release": "r",
    "kernel-version": "v", "machine": "m", "processor": "p", "hardware-platform": "i",
    "operating-system": "o", "sysname": "s", "release": "r",
})  # fmt: skip


@described
@tool
def uname(t: Tool) -> None:
    parsed = _UNAME.parse(t.name, t.call.argv)
    if parsed.operands:
        raise _UNAME.refuse(t.name, f"extra operand {t.quote(parsed.operands[0])}")
    machine = t.call.machine
    fields = {
        "s": "Linux",
        "n": host_name(t.call),
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


@described
@tool
def arch(t: Tool) -> None:
    t.say(t.call.machine.arch)


_HOSTNAME = Options("aAdfFiIsvV", {
    "alias": "a", "all-fqdns": "A", "domain": "d", "fqdn": "f", "long": "f", "ip-address": "i",
    "all-ip-addresses": "I", "short": "s",
}, help_hint=False)  # fmt: skip


@described
@tool
def hostname(t: Tool) -> None:
    parsed = _HOSTNAME.parse(t.name, t.call.argv)
    if parsed.operands:
        t.complain("you must be root to change the host name")
        return
    name = host_name(t.call)
    asked = parsed.last("a", "d", "i", "I", "s")
    if asked == "i":
        t.say("127.0.1.1")
    elif asked == "I":
        t.say("10.0.2.15 ")
    elif asked in ("d", "a"):
        t.say(name.partition(".")[2])
    else:
        t.say(name.partition(".")[0] if asked == "s" else name)


def host_name(call: CommandCall) -> str:
    """The kernel's host name, which does not follow `/etc/hostname` until the next boot."""
    return call.machine.hostname


@described
@tool
def whoami(t: Tool) -> None:
    if t.call.argv:
        raise Options("", {}).refuse("whoami", f"extra operand {t.quote(t.call.argv[0])}")
    t.say(current(t.call).name)


@described
@tool
def logname(t: Tool) -> None:
    t.complain("no login name")


_ID = Options("aZgGnruz", {
    "context": "Z", "group": "g", "groups": "G", "name": "n", "real": "r", "user": "u", "zero": "z",
})  # fmt: skip


@described
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
        return current(t.call)
    return next(
        (one for one in accounts(t.call) if operand in (one.name, str(one.uid))),
        None,
    )


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


@described
@tool
def groups_(t: Tool) -> None:
    for operand in t.call.argv or [""]:
        account = _account(t, operand)
        if account is None:
            t.complain(f"{t.quote(operand)}: no such user")
            continue
        names = " ".join(name or str(gid) for gid, name in groups_of(t.call, account))
        t.say(f"{operand} : {names}" if operand else names)


_DATABASES = ("passwd", "group", "hosts", "shadow", "services", "protocols", "networks")


@described
@tool
def getent(t: Tool) -> None:
    if not t.call.argv:
        t.err.append("Usage: getent [OPTION...] database [key ...]\n")
        t.err.append("Try `getent --help' or `getent --usage' for more information.\n")
        t.code = 1
        return
    database, *keys = t.call.argv
    if database not in _DATABASES:
        t.err.append(f"Unknown database: {database}\n")
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
    if name != "hosts":
        lines = text_lines(call, f"/etc/{name}")
        return [({line.partition(":")[0]}, line) for line in lines]
    found: list[tuple[set[str], str]] = []
    for line in text_lines(call, "/etc/hosts"):
        address, *names = line.partition("#")[0].split() or [""]
        if names:
            found.append(({address, *names}, f"{address:<15} {' '.join(names)}"))
    return found


_LOCALE_NAMES = (
    "CTYPE NUMERIC TIME COLLATE MONETARY MESSAGES PAPER NAME ADDRESS TELEPHONE MEASUREMENT"
    " IDENTIFICATION"
)


@described
@tool
def locale(t: Tool) -> None:
    env = t.call.env
    words = [word for word in t.call.argv if not word.startswith("-")]
    if "-a" in t.call.argv:
        t.out.append("C\nC.utf8\nPOSIX\n")
        return
    if words:
        for word in words:
            if word == "charmap":
                utf8 = "utf" in (env.get("LC_ALL") or env.get("LANG") or "").lower()
                t.say("UTF-8" if utf8 else "ANSI_X3.4-1968")
            elif word == "LC_ALL" or word == "LANG":
                t.say(env.get(word, ""))
            else:
                t.complain(f'unknown name "{word}"')
        return
    language, everything = env.get("LANG", ""), env.get("LC_ALL", "")
    t.say(f"LANG={language}")
    t.say(f"LANGUAGE={env.get('LANGUAGE', '')}")
    for name in _LOCALE_NAMES.split():
        own = env.get(f"LC_{name}", "")
        implied = everything or language or "POSIX"
        t.say(f"LC_{name}={own}" if own and not everything else f'LC_{name}="{implied}"')
    t.say(f"LC_ALL={everything}")


@described
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


COMMANDS: Mapping[str, Command] = {
    "arch": arch,
    "getent": getent,
    "groups": groups_,
    "hostname": hostname,
    "id": id_,
    "locale": locale,
    "logname": logname,
    "uname": uname,
    "which": which,
    "whoami": whoami,
}
