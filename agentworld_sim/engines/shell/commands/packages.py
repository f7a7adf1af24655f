"""Package managers of a machine without network, and commands that are not installed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell._image_texts import status_text
from agentworld_sim.engines.shell._packages import MISSING, PACKAGES, Package, version_text
from agentworld_sim.engines.shell.commands._usage import described

_WARNING = "\nWARNING: apt does not have a stable CLI interface. Use with caution in scripts.\n\n"

_SOURCES = (
    ("http://ftp.debian.org/debian", "bookworm"),
    ("http://ftp.debian.org/debian", "bookworm-updates"),
    ("http://security.debian.org/debian-security", "bookworm-security"),
)

_READING = """\
Reading package lists...
Building dependency tree...
Reading state information...
"""


def missing(call: CommandCall) -> CommandResult:
    """A command that the embedded shell has and this machine has not."""
    return CommandResult("", f"bash: line 1: {call.name}: command not found\n", 127)


@described
def apt(call: CommandCall) -> CommandResult:
    """`apt` and `apt-get`."""
    name = call.name.rpartition("/")[2]
    words = [word for word in call.argv if not word.startswith("-")]
    warning = _WARNING if name == "apt" else ""
    if not words:
        return CommandResult(
            f"{version_text('apt')}Usage: {name} [options] command\n\nSee {name}(8) for more"
            " information about the available commands.\n"
        )
    action, *names = words
    if action == "update":
        return _update(warning)
    if action in ("install", "reinstall", "build-dep", "satisfy"):
        return _install(names, warning)
    if action in ("remove", "purge", "autoremove", "upgrade", "dist-upgrade", "full-upgrade"):
        return _remove(action, names, warning)
    if action in ("clean", "autoclean", "check"):
        return CommandResult("", warning)
    if action == "list" and name == "apt":
        return _list(call.argv, names, warning)
    if action in ("show", "search", "policy") and name == "apt":
        return _query(action, names, warning)
    if action in ("download", "source"):
        return _unknown(names, "", warning)
    return CommandResult("", f"E: Invalid operation {action}\n", 100)


def _host(url: str) -> str:
    return url.split("/")[2]


def _update(warning: str) -> CommandResult:
    lines = [
        f"Err:{n} {url} {suite} InRelease\n  Temporary failure resolving '{_host(url)}'\n"
        for n, (url, suite) in enumerate(_SOURCES, 1)
    ]
    failures = "".join(
        f"W: Failed to fetch {url}/dists/{suite}/InRelease  Temporary failure resolving"
        f" '{_host(url)}'\n"
        for url, suite in _SOURCES
    )
    ignored = "W: Some index files failed to download. They have been ignored, or old ones used"
    return CommandResult(
        "".join(lines) + "Reading package lists...\n", f"{warning}{failures}{ignored} instead.\n"
    )


def _known(name: str) -> Package | None:
    bare = name.partition("=")[0].partition(":")[0]
    return next((package for package in PACKAGES if package.name == bare), None)


def _unknown(names: Sequence[str], out: str, warning: str) -> CommandResult:
    lines = [f"E: Unable to locate package {name.partition('=')[0]}\n" for name in names
             if _known(name) is None]  # fmt: skip
    return CommandResult(out, warning + "".join(lines), 100 if lines else 0)


def _install(names: Sequence[str], warning: str) -> CommandResult:
    refused = _unknown(names, _READING, warning)
    if refused.exit_code:
        return refused
    said = "".join(
        f"{package.name} is already the newest version ({package.version}).\n"
        for package in map(_known, names)
        if package is not None
    )
    return CommandResult(f"{_READING}{said}{_NOTHING}", warning)


_NOTHING = "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"


def _remove(action: str, names: Sequence[str], warning: str) -> CommandResult:
    if "upgrade" in action or action == "autoremove":
        calculating = "Calculating upgrade...\n" if "upgrade" in action else ""
        return CommandResult(f"{_READING}{calculating}{_NOTHING}", warning)
    refused = _unknown(names, _READING, warning)
    if refused.exit_code or not names:
        return refused
    return CommandResult(
        _READING,
        warning + "E: Could not get lock /var/lib/dpkg/lock-frontend - open (30: Read-only file"
        " system)\nE: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are"
        " you root?\n",
        100,
    )


def _list(argv: Sequence[str], patterns: Sequence[str], warning: str) -> CommandResult:
    del argv
    lines = [
        f"{package.name}/now {package.version} {package.arch} [installed,local]\n"
        for package in PACKAGES
        if not patterns or any(fnmatchcase(package.name, pattern) for pattern in patterns)
    ]
    return CommandResult("Listing...\n" + "".join(lines), warning)


def _query(action: str, names: Sequence[str], warning: str) -> CommandResult:
    found = [package for package in map(_known, names) if package is not None]
    if action == "search":
        pattern = " ".join(names)
        found = [p for p in PACKAGES if pattern in p.name or pattern in p.summary]
        return CommandResult("".join(f"{p.name}/now {p.version} {p.arch}\n  {p.summary}\n\n"
                                     for p in found), warning)  # fmt: skip
    if action == "policy":
        return CommandResult("".join(_policy(package) for package in found), warning)
    if not found:
        lines = "".join(f"N: Unable to locate package {name}\n" for name in names)
        return CommandResult("", f"{warning}{lines}E: No packages found\n", 100)
    text = "\n".join(re.sub(r"Status:.*\n", "", status_text(package)) for package in found)
    return CommandResult(text + "\n", warning)


def _policy(package: Package) -> str:
    version = package.version
    return (
        f"{package.name}:\n  Installed: {version}\n  Candidate: {version}\n  Version table:\n"
        f" *** {version} 100\n        100 /var/lib/dpkg/status\n"
    )


@described
def apt_cache(call: CommandCall) -> CommandResult:
    words = [word for word in call.argv if not word.startswith("-")]
    if not words or words[0] not in ("show", "search", "policy", "showpkg", "depends", "madison"):
        if words:
            return CommandResult("", f"E: Invalid operation {words[0]}\n", 100)
        return CommandResult(f"{version_text('apt')}Usage: apt-cache [options] command\n")
    action, *names = words
    if action == "search":
        pattern = " ".join(names)
        found = [p for p in PACKAGES if pattern in p.name or pattern in p.summary]
        return CommandResult("".join(f"{p.name} - {p.summary}\n" for p in found))
    if action == "policy":
        known = [package for package in map(_known, names) if package is not None]
        lost = [name for name in names if _known(name) is None]
        notes = "".join(f"N: Unable to locate package {name}\n" for name in lost)
        return CommandResult("".join(map(_policy, known)), notes)
    return _query("show", names, "")


@described
def dpkg(call: CommandCall) -> CommandResult:
    """`dpkg` and `dpkg-query`, as far as they only look."""
    words = list(call.argv)
    if not words:
        return CommandResult("", "dpkg: error: need an action option\n\nType dpkg --help for help"
                             " about installing and deinstalling packages [*];\n", 2)  # fmt: skip
    action, *names = words
    names = [name for name in names if not name.startswith("-")]
    match action:
        case "-l" | "--list":
            return _dpkg_list(names)
        case "-s" | "--status":
            return _dpkg_each(names, status_text, "is not installed and no information is"
                              " available\nUse dpkg --info (= dpkg-deb --info) to examine archive"
                              " files.")  # fmt: skip
        case "-L" | "--listfiles":
            return _dpkg_each(names, _files, "is not installed\nUse dpkg --contents (= dpkg-deb"
                              " --contents) to list archive files contents.")  # fmt: skip
        case "-S" | "--search":
            return _dpkg_search(names)
        case "-W" | "--show":
            found = [p for p in PACKAGES if not names or p.name in names]
            lost = [name for name in names if _known(name) is None]
            errors = "".join(f"dpkg-query: no packages found matching {name}\n" for name in lost)
            out = "".join(f"{p.name}\t{p.version}\n" for p in found)
            return CommandResult(out, errors, 1 if lost else 0)
        case "--print-architecture":
            return CommandResult("amd64\n")
        case "--get-selections":
            return CommandResult("".join(f"{p.name}\t\t\t\t\tinstall\n" for p in PACKAGES))
        case "-i" | "--install" | "--unpack":
            name = names[0] if names else ""
            return CommandResult("", f"dpkg: error: cannot access archive '{name}': No such file or"
                                 " directory\n", 2)  # fmt: skip
        case _:
            return CommandResult("", f"dpkg: error: unknown option {action}\n\nType dpkg --help for"
                                 " help about installing and deinstalling packages [*];\n",
                                 2)  # fmt: skip


_LIST_HEADER = """\
Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend
|/ Err?=(none)/Reinst-required (Status,Err: uppercase=bad)
"""


def _dpkg_list(names: Sequence[str]) -> CommandResult:
    found = [p for p in PACKAGES if not names or any(fnmatchcase(p.name, n) for n in names)]
    lost = [n for n in names if not any(fnmatchcase(p.name, n) for p in PACKAGES)]
    errors = "".join(f"dpkg-query: no packages found matching {name}\n" for name in lost)
    if not found:
        return CommandResult("", errors, 1)
    rows = [(p.name, p.version, p.arch, p.summary) for p in found]
    titles = ("Name", "Version", "Architecture", "Description")
    widths = [max(len(row[i]) for row in [*rows, titles]) for i in range(4)]
    widths[0], widths[1] = max(14, widths[0]), max(12, widths[1])
    rule = "+++-" + "-".join("=" * width for width in (widths[0], widths[1], 12, widths[3]))
    lines = [f"||/ {_row(titles, widths)}", rule]
    lines += [f"ii  {_row(row, widths)}" for row in rows]
    return CommandResult(_LIST_HEADER + "\n".join(lines) + "\n", errors, 1 if lost else 0)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return f"{cells[0]:<{widths[0]}} {cells[1]:<{widths[1]}} {cells[2]:<12} {cells[3]}"


def _files(package: Package) -> str:
    paths = ["/.", "/usr", "/usr/bin", *(f"/usr/bin/{name}" for name in package.commands),
             "/usr/share", "/usr/share/doc", f"/usr/share/doc/{package.name}"]  # fmt: skip
    return "".join(f"{path}\n" for path in paths)


def _dpkg_each(names: Sequence[str], shown: object, lost: str) -> CommandResult:
    show = shown if callable(shown) else status_text
    out = "\n".join(str(show(package)) for package in map(_known, names) if package is not None)
    errors = "".join(
        f"dpkg-query: package '{name}' {lost}\n" for name in names if _known(name) is None
    )
    return CommandResult(out, errors, 1 if errors else 0)


def _dpkg_search(names: Sequence[str]) -> CommandResult:
    out: list[str] = []
    errors: list[str] = []
    for name in names:
        hits = [
            f"{package.name}: /usr/bin/{command}\n"
            for package in PACKAGES
            for command in package.commands
            if name in f"/usr/bin/{command}"
        ]
        out += hits
        if not hits:
            errors.append(f"dpkg-query: no path found matching pattern {name}\n")
    return CommandResult("".join(out), "".join(errors), 1 if errors else 0)


COMMANDS: Mapping[str, Command] = {
    **dict.fromkeys(sorted(MISSING), missing),
    "apt": apt,
    "apt-cache": apt_cache,
    "apt-get": apt,
    "dpkg": dpkg,
    "dpkg-query": dpkg,
}
