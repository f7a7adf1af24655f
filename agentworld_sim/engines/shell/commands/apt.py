"""`apt` of a machine without network and package lists, and commands that are not installed."""

from __future__ import annotations

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._tool import with_help
from agentworld_sim.engines.shell.programs import packages_of, version_text

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
_NOTHING = "0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n"


def missing(call: CommandCall) -> CommandResult:
    """A command that the embedded shell has and this machine has not."""
    return CommandResult("", f"bash: line 1: {call.name}: command not found\n", 127)


@with_help
def apt(call: CommandCall) -> CommandResult:
    name = call.name.rpartition("/")[2]
    warning = _WARNING if name == "apt" else ""
    words = [word.partition("=")[0] for word in call.argv if not word.startswith("-")]
    if not words:
        return CommandResult(f"{version_text('apt')}Usage: {name} [options] command\n")
    action, *names = words
    if action == "update":
        return _update(warning)
    versions = {package.name: package.version for package in packages_of(call.machine)}
    if action == "list" and name == "apt":
        lines = "".join(
            f"{name}/now {version} amd64 [installed,local]\n"
            for name, version in versions.items()
            if not names or name in names
        )
        return CommandResult(f"Listing...\n{lines}", warning)
    if action not in ("install", "upgrade"):
        return CommandResult("", f"{warning}E: Invalid operation {action}\n", 100)
    lost = "".join(f"E: Unable to locate package {n}\n" for n in names if n not in versions)
    if lost:
        return CommandResult(_READING, warning + lost, 100)
    newest = "".join(f"{n} is already the newest version ({versions[n]}).\n" for n in names)
    return CommandResult(f"{_READING}{newest}{_NOTHING}", warning)


def _update(warning: str) -> CommandResult:
    lines = failures = ""
    for number, (url, suite) in enumerate(_SOURCES, 1):
        reason = f"Temporary failure resolving '{url.split('/')[2]}'"
        lines += f"Err:{number} {url} {suite} InRelease\n  {reason}\n"
        failures += f"W: Failed to fetch {url}/dists/{suite}/InRelease  {reason}\n"
    ignored = "W: Some index files failed to download. They have been ignored, or old ones used"
    return CommandResult(
        f"{lines}Reading package lists...\n", f"{warning}{failures}{ignored} instead.\n"
    )
